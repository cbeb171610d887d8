"""The first opening of a memory that an older version kept in Kuzu: all of it becomes a record, and the old file stays beside.

The record is made under another name and gets its own when it is complete: killed on the way, the next opening begins again.
"""

import logging
from functools import partial
from pathlib import Path

from hive_mind.replacing import publish
from hive_mind.sqlite.file import owned, remove
from hive_mind.sqlite.lock import lock_path
from hive_mind.sqlite.replacement import is_half_replaced, log_path
from hive_mind.sqlite.worker import Worker
from hive_mind.store._kuzu.conversion import ConversionReport, changes_from_kuzu
from hive_mind.store.base import Change
from hive_mind.store.sqlite.record import Health, RecordFile
from hive_mind.store.sqlite.rows import FORMAT

_log = logging.getLogger(__name__)

_LOST_SHOWN_MAX = 5


def former_path(path: Path) -> Path:
    """Where older versions kept what is kept at `path` now."""
    return path.with_suffix(".kuzu").resolve()


async def convert_if_former(path: Path) -> None:
    """Make the record at `path` where there is none yet and an older version left a memory.

    Raises `DatabaseLocked` where an older version has it open, `DatabaseUnreadable` where nothing of it can be read.
    """
    if not _is_former(path):
        return
    with owned(path, FORMAT):
        # Another process may have been faster.
        if _is_former(path):
            await _convert(path)


def _is_former(path: Path) -> bool:
    is_begun = path.exists() or log_path(path).exists() or is_half_replaced(path)
    return not is_begun and former_path(path).exists()


async def _convert(path: Path) -> None:
    former, made, report = former_path(path), path.with_name(path.name + ".converting"), ConversionReport()
    _log.warning("%s is of an older version: it is converted once, and stays where it is", former)
    remove(made)
    worker = Worker[RecordFile, Change](partial(RecordFile, made, Health(made)), name=f"record {made.name}")
    await worker.start()
    try:
        async for changes in changes_from_kuzu(former, report):
            await worker.write(changes)
    finally:
        await worker.close()
    lock_path(made).unlink(missing_ok=True)
    publish(made, path)
    _log.warning("%s: %s are taken over; delete %s* when you need it no more", path.name, _summary(report), former.name)
    if report.lost:
        more = f"; and {len(report.lost) - _LOST_SHOWN_MAX} more" if len(report.lost) > _LOST_SHOWN_MAX else ""
        _log.error("%s: lost, as they can't be read: %s%s", former, "; ".join(report.lost[:_LOST_SHOWN_MAX]), more)


def _summary(report: ConversionReport) -> str:
    taken = report.taken
    return f"{taken['AddFact']:,} facts, {taken['AddEpisode']:,} episodes and {taken['Link']:,} links"
