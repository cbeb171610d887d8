"""Whether what was found answers a question at all, which of it is quoted, and in what order."""
