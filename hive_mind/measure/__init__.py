"""What is measured, and how sure one may be of it: pure functions of lists and numbers."""
