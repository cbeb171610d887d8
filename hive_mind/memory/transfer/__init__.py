"""A record as lines of JSON, and back."""
