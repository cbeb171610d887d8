"""From what was found to an answer, and what both are worth: one answerer and one judge for every arm."""
