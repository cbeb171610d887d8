"""How a fleet is shown: plans, status, logs, what changes while somebody looks."""
