"""Placement of facts and read sets: the law, the topologies, and how one travels and changes."""
