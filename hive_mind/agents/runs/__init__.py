"""Driving a run: what it wants is done, its steps are kept; tools of a memory, of files and of the fleet."""
