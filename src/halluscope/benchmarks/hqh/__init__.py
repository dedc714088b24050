"""HQH: wrong main answers and extra claims in free-form responses (Yan et al., Measuring the Measurers)."""
