"""Forgetting for good."""
