"""Says what files are that other people wrote."""
