"""The index of a collection: documents cut into chunks, kept in one file, searched in RAM."""
