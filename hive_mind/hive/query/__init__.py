"""A question to the hive: scatter to replica sets, gather, validate, fetch, list."""
