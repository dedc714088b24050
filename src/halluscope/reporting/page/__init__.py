"""A report as one page of HTML that needs no network: what stands on it (`content`), and the writing of it."""
