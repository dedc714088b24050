"""How a language model runs: its weights, its decoding, and the libraries and devices that it runs on."""
