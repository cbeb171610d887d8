"""Runs of an agent of a fleet, and what begins and watches them."""
