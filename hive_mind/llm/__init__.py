"""Language models. `base` says what every model must do; each other file is one that does it."""
