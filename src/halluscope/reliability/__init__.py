"""HQM: how far a benchmark can be believed, by indicators, parallel forms, and sheets on which people mark rows."""
