"""Results for people and for machines: tables, JSON, and the scores that papers print."""
