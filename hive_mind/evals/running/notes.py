"""What is remarked while a cell runs, in a file beside its rows.

With members that are gone on purpose there is a remark per question. On the terminal they would hide which cell is done.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def noted(file: Path) -> Iterator[None]:
    """While this is open, warnings of ours go to the file, which is made with the first, and nowhere else."""
    ours = logging.getLogger("hive_mind")
    handler = logging.FileHandler(file, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    handler.setLevel(logging.WARNING)
    goes_on, ours.propagate = ours.propagate, False
    ours.addHandler(handler)
    try:
        yield
    finally:
        ours.removeHandler(handler)
        ours.propagate = goes_on
        handler.close()
