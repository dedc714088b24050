"""How results are shown: tables, JSON, pages, figures, and the scores that papers print."""
