"""Estimates what judging will cost before it is done: prompts, tokens, FLOP and time."""
