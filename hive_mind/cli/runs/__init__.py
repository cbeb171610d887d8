"""Commands on runs, workers and goals."""
