"""Records of a run: a row per question, its times apart from it, and a report per cell.

Rows hold nothing that a clock or the machine decides, so the same seed writes the same bytes; `Timing` holds those values.
Every figure of a report is computed from rows, timings and cell reports, and from nothing else.
"""

from typing import Any, Literal

import msgspec


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question asked of one cell.

    `found` are document ids, best first, at most k, of equal texts the first; `facts` the facts' ids, by which arms are compared;
    `scores` are in [0, 1].
    `metrics` are values in their own ranges, null where undefined. `error` says why a question has no result, where it has none.
    """

    question: str
    found: list[str] = []
    facts: list[str] = []
    scores: list[float] = []
    metrics: dict[str, float | None] = {}
    asked: str = ""
    """The question in words."""
    group: str = ""
    """Its group, such as a conversation: questions of a group are alike. "" where the data has no groups."""
    category: str = ""
    intent: str = ""
    source_bias: str = ""
    answer: str = ""
    messages: int = 0
    bytes: int = 0
    fan_out: int = 0
    """Nodes that were asked."""
    completeness: float = 1.0
    tokens_in: int = 0
    tokens_out: int = 0
    """Of the answer and of its judge, calls that failed included."""
    usd: float | None = None
    """Of the same; None where there are tokens without a known price."""
    error: str = ""
    unanswered: str = ""
    """Why the answerer gave no answer to what was found."""


class Timing(msgspec.Struct, frozen=True):
    """Times of one question, in milliseconds: of the asking process's CPU (all members', in process), and of the wall clock."""

    question: str
    cpu_ms: float
    wall_ms: float


class Learned(msgspec.Struct, frozen=True, omit_defaults=True):
    """Cost of learning until every fact was in its place. None: not measured in this place.

    Messages are those that learning causes; messages by timetable (`weighing`) are not among them.
    """

    facts: int = 0
    messages: int | None = None
    bytes: int | None = None
    replica_lag_s: float | None = None
    """From the last fact kept to the last replica written."""
    cpu_s: float | None = None
    wall_s: float | None = None
    memory_per_agent_bytes: int | None = None
    """In this process what learning added; of processes of their own all that they take, Python and libraries included."""


class CellReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a cell went. A failed one is in the report with its reason; `cell` is the cell's values as plain JSON."""

    id: str
    cell: dict[str, Any]
    status: Literal["done", "failed"]
    why: str = ""
    documents: int = 0
    questions: int = 0
    left_out: dict[str, int] = {}
    embedding: str = ""
    answerer: str = ""
    judge: str = ""
    learned: Learned = Learned()
    figures: dict[str, float | None] = {}
    """Of the whole cell, not of a question, such as embedding cohesion."""
