"""Replicated data types that converge however messages are delayed, lost, repeated or reordered."""
