"""A message in a queue, with all the queue knows of it."""

from dataclasses import dataclass
from enum import IntEnum
from math import inf
from uuid import UUID

from hive_mind.devbroker.servicebus.letters import Letter


class State(IntEnum):
    """As it goes over the wire."""

    ACTIVE = 0
    DEFERRED = 1
    SCHEDULED = 2


@dataclass(slots=True)
class Kept:
    """`attempts` are deliveries that failed. `origin` is its number where it was sent to: the topic, or the queue it died in."""

    letter: Letter
    sequence: int
    origin: int
    enqueued_at: float
    expires_at: float = inf
    state: State = State.ACTIVE
    attempts: int = 0
    token: UUID | None = None
    locked_until: float = 0.0
    died_in: str = ""
