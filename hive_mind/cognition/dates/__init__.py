"""Points in time that texts name, as ISO 8601, as precise as the text is."""
