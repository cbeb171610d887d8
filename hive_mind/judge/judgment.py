"""The words of a judgement: what may be decided, and the signals it is decided by."""

from enum import StrEnum
from typing import Literal

from msgspec import Struct


class JudgmentAction(StrEnum):
    """What becomes of what was judged."""

    ACCEPT = "accept"
    RETRY = "retry"
    REPLAN = "replan"
    ESCALATE = "escalate"
    """It may not pass: a person is to decide or, said by a person, it is rejected."""


class Signal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one source says about a case. `origin` is its family: signals of one family are not independent."""

    name: str
    origin: str
    action: JudgmentAction | None = None
    confidence: float | None = None
    reasoning: str = ""
    state: Literal["given", "missing", "broken"] = "given"
