"""Plots of how cost grows with facts, with agents and with failures."""
