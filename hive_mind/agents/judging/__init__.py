"""Judges of facts and of results, and what they learn from people."""
