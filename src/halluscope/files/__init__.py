"""Opens files within limits, and writes files completely or not at all; no other module does either."""
