"""Who means a simulated hive harm: liars, thieves and forgers, and the keys and signed mail that they meet."""
