"""What a node knows, ready to be searched."""
