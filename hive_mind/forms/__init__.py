"""Files that people write: read strictly, and whatever is wrong told at once with its line, its path and what to do."""
