"""Notices of the parts below ("keyword search only: …"), shown once each as a line on stderr."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from hive_mind.cli.output import say

_LOGGER = "hive_mind"


class _Shown(logging.Handler):
    """Says each different message once."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Say the message, unless it was said before."""
        message = record.getMessage()
        if message not in self._said:
            self._said.add(message)
            say(f"note: {message}", style="yellow")


@contextmanager
def shown_notices() -> Iterator[None]:
    """For as long as the block runs, what this package has to say goes to stderr and nowhere else."""
    logger, handler = logging.getLogger(_LOGGER), _Shown()
    propagated, logger.propagate = logger.propagate, False
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagated
        logger.setLevel(level)
