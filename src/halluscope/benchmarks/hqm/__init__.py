"""HQM: how far a hallucination benchmark can be believed (Yan et al., Measuring the Measurers, section III)."""
