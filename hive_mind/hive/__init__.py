"""The hive: a state machine per node, three topologies, one ranking. Pure: time and chance are handed in."""
