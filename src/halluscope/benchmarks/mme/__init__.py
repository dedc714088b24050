"""MME: yes/no questions in 14 subtasks, two about each image (Fu et al., 2023)."""
