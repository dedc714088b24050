"""Words of English texts in their dictionary form: by a dictionary that comes with the package, or by nltk."""
