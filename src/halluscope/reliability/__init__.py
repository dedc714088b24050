"""HQM: how far a benchmark can be believed. Indicators, parallel forms, and sheets on which people mark rows."""
