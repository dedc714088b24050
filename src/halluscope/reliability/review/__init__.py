"""Review sheets, on which people mark a sample of rows: made as a page and as CSV, filled in, and read back."""
