"""Yes or no about a text: who votes, what is still worth asking, and what the votes come to."""
