"""Facts an agent and its hive have in common."""
