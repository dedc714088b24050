"""GAVIE: do responses follow instructions, and are they true of the image (Liu et al., ICLR 2024)?"""

from halluscope.graded import record

BENCHMARK = record.record(__file__)
