"""Putting a configuration into use, after a gate, with a history."""
