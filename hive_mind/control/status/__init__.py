"""The observed state of a fleet, and its form for people."""
