"""Places that run processes of a fleet: one file or folder each; `base` says what each must do."""
