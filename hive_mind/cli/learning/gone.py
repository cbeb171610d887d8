"""Files that were learned and are gone: deleted, renamed, or moved out of their folder."""

import os
from collections.abc import Container, Sequence
from pathlib import Path

from hive_mind.cli.learning.learners import Learner
from hive_mind.cli.output import printable, say
from hive_mind.counted import counted


def below(folder: Path) -> str:
    """How the sources begin that are files of a folder."""
    return printable(os.path.realpath(folder).rstrip(os.sep) + os.sep)


async def gone_from(learner: Learner, folders: Sequence[Path], now: Container[str]) -> list[str]:
    """Sources of these folders that say something still, though they are gone; `now` are those that are there."""
    found = [source for folder in folders for source in await learner.sources(below(folder))]
    return sorted({one.source for one in found if one.vouches and one.source not in now and is_gone(one.source)})


def is_gone(source: str) -> bool:
    """Whether nothing has this path any more."""
    return not os.path.lexists(source)


def print_gone(sources: Sequence[str]) -> None:
    """A word where some are."""
    if sources:
        files = counted(len(sources), "file that was learned is", "files that were learned are")
        say(f"note: {files} gone from there and still vouched for; learn the folder with --replace to make that former", "yellow")
