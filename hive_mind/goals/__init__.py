"""Goals, criteria and constraints of agents, and the language their conditions are written in. Pure."""

from typing import Final

GENERAL: Final = "general"
"""The category of constraints, and the kind of goals, that say nothing else. Here, as a goal loads pydantic."""
