"""One module a metric: input checked, judged, voted, scored, signed."""
