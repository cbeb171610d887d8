"""Lines of the logs of a fleet's processes: those of one, or the latest of all in the order of their times.

They are read from the files, so that the lines of a process that crashed can be read like those of one that runs.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hive_mind.regex import regex

_TIME = regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]*")


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line with the time that stands in it, "" for none, and whose it is."""

    time: str
    process: str
    text: str


async def latest_lines(folder: Path, processes: Iterable[str], count: int) -> list[LogLine]:
    """The last lines of all these processes together, the oldest first. `folder` is that of the fleet."""
    return await asyncio.to_thread(_latest, folder, tuple(processes), count)


def _latest(folder: Path, processes: tuple[str, ...], count: int) -> list[LogLine]:
    from hive_mind.control.processes.log_reading import last_lines
    from hive_mind.control.processes.process_files import ProcessFiles

    lines: list[LogLine] = []
    for process in processes:
        time = ""
        for text in last_lines(ProcessFiles(folder, process).log, count):
            # A line without a time, such as one of a traceback, belongs to the one before it.
            time = _time_in(text) or time
            lines.append(LogLine(time, process, text))
    return sorted(lines, key=lambda line: line.time)[-count:]


def _time_in(text: str) -> str:
    match = _TIME.search(text[:100])
    return match[0].replace(" ", "T").replace(",", ".") if match else ""
