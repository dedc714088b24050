"""Gives the words of English texts their dictionary forms, by a dictionary that comes with the package or by nltk."""
