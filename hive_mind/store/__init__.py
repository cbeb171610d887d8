"""Where an agent's facts are kept. `base` says what every store must do; each other file is one that does it."""
