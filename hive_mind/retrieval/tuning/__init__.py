"""Tuning: propose a configuration, measure it, learn from it."""
