"""What judging will take, before it is done: prompts, tokens, FLOP and time."""
