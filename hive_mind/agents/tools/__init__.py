"""Tools of runs: memory, files, incidents, the fleet."""
