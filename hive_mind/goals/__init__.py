"""Goals, criteria and constraints of agents, and the language their conditions are written in. Pure."""
