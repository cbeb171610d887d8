"""Fleets from manifests: what should run, what runs, the difference, and doing something about it.

Here is what observes and acts, begun by `controller`. It reads `manifests`, has `planning` decide, and acts on `platforms`; those
of this machine are made of `processes`.
"""

TIMEOUT_S = 120.0
"""How long a command waits for processes."""
RESIDENT = "resident"
"""The fleet of the agents of a home that are in no other, see `control.controller`."""
