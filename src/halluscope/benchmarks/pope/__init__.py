"""POPE: yes/no questions about single objects (Li et al., EMNLP 2023), complete (THRONE, section 5.4) or sampled."""
