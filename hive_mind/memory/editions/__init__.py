"""A source's present statements, and its former ones."""
