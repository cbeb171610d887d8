"""The conditions that a simulated hive must meet: promises to its clients, and checks during the storm and after it."""
