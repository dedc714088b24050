"""GAVIE: do responses follow instructions, and are they true of the image (Liu et al., ICLR 2024)?"""
