"""Members, their liveness, hive time, and the next topology."""
