"""HaloQuest: free-form questions that tempt a model to make something up (Wang et al., ECCV 2024)."""
