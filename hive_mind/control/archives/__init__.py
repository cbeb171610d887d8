"""A fleet as one file, and back."""
