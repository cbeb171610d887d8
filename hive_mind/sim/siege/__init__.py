"""The attackers of a simulated hive: liars, thieves and forgers, and the keys and signed mail that they meet."""
