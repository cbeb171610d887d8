"""`hive-mind demo`: a little world that is learned and asked about, by one agent, by several, or by several processes."""
