"""The judge at an agent's gate, and the desk at which people decide."""
