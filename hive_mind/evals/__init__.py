"""How well does it work? Data sets, ways to search, one run from start to end, and a corpus of our own."""

JOBS = 2
"""Processes of a run."""
