"""Votes, yes or no about a text: who votes, which questions are still worth asking, and how votes are counted."""
