"""Judging: what was done, and what an agent believes, by rules, models and people; and what waits for a person. Pure."""
