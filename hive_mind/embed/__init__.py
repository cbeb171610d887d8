"""Text to vectors. `base` says what every embedder must do; each other file is one that does it."""
