"""Reading and answering: from content to candidates, from hits to an answer. Knows nothing of storage or topology."""
