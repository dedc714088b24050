"""DASH-B: yes/no questions about images that make models see an object that is not there (Augustin et al., 2025)."""
