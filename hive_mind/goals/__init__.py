"""What is wanted and what may not be: goals, criteria, constraints, and the language their conditions are written in. Pure."""
