"""A report as one page of HTML that needs no network: its content (`content`), and how it is written."""
