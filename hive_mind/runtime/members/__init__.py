"""Members of a hive in this process, and their hive's next generation."""
