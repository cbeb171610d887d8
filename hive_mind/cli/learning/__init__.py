"""Commands that learn from files."""
