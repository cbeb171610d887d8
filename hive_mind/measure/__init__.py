"""The metrics, and how sure one may be of them: pure functions of lists and numbers."""
