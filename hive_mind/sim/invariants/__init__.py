"""What must hold of a simulated hive: what was promised to its clients, and checks during the storm and after it."""
