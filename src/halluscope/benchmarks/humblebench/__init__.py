"""HumbleBench: questions with five choices, of which the last is "none of the above" (2025)."""
