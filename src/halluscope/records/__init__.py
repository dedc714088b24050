"""What rows are, and reading them from the files that users have; rows are matched by their ids."""
