"""A node's knowledge, ready to be searched."""
