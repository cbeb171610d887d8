"""Agents: what learns and answers, turn by turn, on top of a memory and a reader."""
