"""Files as text."""
