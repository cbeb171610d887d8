"""Driving a run: what it wants is done, and its steps are kept."""
