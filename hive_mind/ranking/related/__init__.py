"""What other facts lend a candidate: those said around it, and those whose names it has."""
