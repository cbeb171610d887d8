"""A whole hive in one thread, in virtual time, from one seed: production nodes under every fault we could think of."""
