"""Scores other facts lend a candidate: those said around it, and those with names in common."""
