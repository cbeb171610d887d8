"""hive-mind: a fleet of agents that remembers together."""

__version__ = "0.1.0"
