"""What is read and written on disk."""
