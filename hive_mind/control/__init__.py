"""Fleets from manifests: what should run, what runs, the difference, and doing something about it."""
