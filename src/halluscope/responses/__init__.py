"""What an LVLM said: the files that hold it, the one matcher, and the rules that read yes or no."""
