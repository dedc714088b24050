"""Reads image captions the way CHAIR does: tokens, lemmas, double words, and the classes that words stand for."""
