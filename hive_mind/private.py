"""Folders that are their owner's alone: memories, journals, keys and what agents wrote are nobody else's to read."""

from pathlib import Path


def private_folder(path: Path) -> Path:
    """The folder, made where it is missing with all that is missing above it. One that is there keeps its rights.

    Raises `OSError`.
    """
    missing = []
    above = path
    while not above.exists():
        missing.append(above)
        above = above.parent
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True, mode=0o700)
    # Where a file stands in its place, this says so.
    path.mkdir(exist_ok=True)
    return path
