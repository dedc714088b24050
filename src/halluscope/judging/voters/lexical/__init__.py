"""The lexical judge, which uses no model, only word lists and a few rules about the words around a mention.

It reads a text sentence by sentence. Every word or phrase that names a class is a mention. A mention counts unless a
rule takes it back ("no dog", "possibly waiting for a bus", "a bus stop", "orange traffic cones"). A class is present
if one of its mentions counts. The word lists for the classes are in `vocabularies/*.toml`; everything else that the
rules know about English is in `lexical.toml`, next to this module.
"""

from halluscope.judging.voters.lexical.judge import RULES_VERSION, TEXTS_A_BATCH, LexicalJudge, Mention

__all__ = ["RULES_VERSION", "TEXTS_A_BATCH", "LexicalJudge", "Mention"]
