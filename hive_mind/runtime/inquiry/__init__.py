"""Requests of people to an agent: evidence for a fact, why one is missing, items that wait for them, messages on the bus."""
