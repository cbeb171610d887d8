"""Judging: what was done, and what an agent believes, by rules, models and people; and what waits for a person. Pure."""

DECISIONS_MIN = 10
"""How many that are alike make a rule."""
