"""Commands on what an agent knows."""
