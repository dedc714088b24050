"""Files: the one place that opens them, within limits, and the one that writes them, all or nothing."""
