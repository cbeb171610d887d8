"""Optional steps of a search before and after its first ranking, by setting."""
