"""A run is a state machine whose steps are kept: `fold` them for its state, `wanted` says what should be under way, and
`accepted` what an event means. All of it is pure; `agents.runs.executor` does what is wanted.

Here is what begins one, a trigger: when it is due, the run, and what that is given. A run is called after its trigger and the
time it was due, or the event, so what is due twice, or in two processes, begins once.
"""

from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import msgspec

from hive_mind.clocks import utc
from hive_mind.errors import InvalidInput

NAME_CHARACTERS = 100
"""of a stream of values that runs share"""


class TriggerConfig(msgspec.Struct, frozen=True):
    """A trigger of runs: an interval in seconds, a cron line, calls of a hook of this name, or the events that an address sends.

    `token` may be a reference; it is resolved when it is used.
    """

    every_s: float = 0.0
    cron: str = ""
    hook: str = ""
    events: str = ""
    token: str = ""
    inputs: dict[str, Any] = {}

    @property
    def name(self) -> str:
        if self.events:
            # Two addresses may differ in what is not shown of them.
            return f"events of {shown_url(self.events)} ({_digest(self.events, 6)})"
        return self.hook or self.cron or f"every {self.every_s:g} s"

    @property
    def shared_by(self) -> str:
        """The name under which its runs share values: of a long address the begin, and a digest of all."""
        short = self.name[: NAME_CHARACTERS - 9]
        return self.name if len(self.name) <= NAME_CHARACTERS else f"{short}…{_digest(self.name, 8)}"

    @property
    def stream(self) -> str:
        """That keeps the last event which began a run."""
        return f"trigger/{_digest(self.name, 12)}"

    def run_of(self, id: str) -> str:
        """The run that it begins for this time or event."""
        return f"t-{_digest(f'{self.name}/{id}', 12)}"

    def next_due(self, now: float) -> float:
        """When it is due next, in seconds since 1970-01-01 UTC. Raises `InvalidInput` for a malformed cron line."""
        return (now // self.every_s + 1) * self.every_s if self.every_s else cron_due(self.cron, now)


def cron_due(line: str, after: float) -> float:
    """The next time of a cron line, in UTC. Raises `InvalidInput` for a malformed line, or one that no day ever matches."""
    # Here, because every process reads triggers and few have a cron line.
    from cronsim import CronSim, CronSimError

    try:
        return float(next(CronSim(line, utc(after))).timestamp())
    except (CronSimError, StopIteration):
        raise InvalidInput(f"{line!r} is not a cron line: minute hour day month weekday, such as 0 7 * * *") from None


def inputs_of(kind: str, data: str) -> dict[str, Any]:
    """The fields of an event that is a JSON object; any other is `data`. `event` is what kind it is."""
    try:
        fields = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        fields = None
    return {"event": kind, **(fields if isinstance(fields, dict) else {"data": data})}


def shown_url(url: str) -> str:
    """An address without what may be secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _digest(text: str, digits: int) -> str:
    return sha256(text.encode()).hexdigest()[:digits]
