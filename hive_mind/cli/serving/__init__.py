"""Commands that keep agents open for other programs."""
