"""Indexes over vectors, one file each: exact for small memories, approximate for large ones."""
