"""Where an agent's inputs come from: a list, a file, standard input, or a queue that a bus fills. All are used alike."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Protocol, TextIO, TypeVar

_Input = TypeVar("_Input", covariant=True)


class InputSource(Protocol[_Input]):
    """Inputs one after the other; it ends when there are no more."""

    def __aiter__(self) -> AsyncIterator[_Input]:
        """Each of them."""
        ...


async def listed(inputs: Iterable[_Input]) -> AsyncIterator[_Input]:
    """What is there already."""
    for one in inputs:
        yield one


async def lines_of(file: Path | TextIO) -> AsyncIterator[str]:
    """Each line that says something, of a file or of an open stream such as standard input."""
    stream = await asyncio.to_thread(file.open, encoding="utf-8", errors="replace") if isinstance(file, Path) else file
    try:
        while line := await asyncio.to_thread(stream.readline):
            if line.strip():
                yield line.strip()
    finally:
        if isinstance(file, Path):
            stream.close()
