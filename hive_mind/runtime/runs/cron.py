"""When a cron line is due: for a manifest that is checked as for a trigger that waits."""

from datetime import UTC, datetime

from cronsim import CronSim, CronSimError

from hive_mind.errors import InvalidInput


def cron_due(line: str, after: float) -> float:
    """The next time of a cron line, in UTC. Raises `InvalidInput` for a malformed line, or one that no day ever matches."""
    try:
        return float(next(CronSim(line, datetime.fromtimestamp(after, UTC))).timestamp())
    except (CronSimError, StopIteration):
        raise InvalidInput(f"{line!r} is not a cron line: minute hour day month weekday, such as 0 7 * * *") from None
