"""Cuts captions at the end of their last whole sentence."""

import re

# The end of a sentence, with what closes after it
_SENTENCE_END = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]*]*(?=\s|\Z)")


def whole_sentences(text: str) -> str:
    """Return a text up to the end of its last whole sentence; "" if it has none.

    >>> whole_sentences("A dog sits. A man (tall.) A cat is"), whole_sentences("A dog.\\n"), whole_sentences("A dog")
    ('A dog sits. A man (tall.)', 'A dog.\\n', '')
    """
    end = 0
    for sentence_end in _SENTENCE_END.finditer(text):
        end = sentence_end.end()
    if text[end:].strip():
        return text[:end]
    return text
