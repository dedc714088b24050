"""Pure functions from counts to numbers, one module a kind of benchmark."""
