"""Input: raw content, the episode it is kept as, the candidates a reader takes out of it, and the source it is from."""

from dataclasses import dataclass

import msgspec

SOURCE = "user"
"""The source of content given without one."""


@dataclass(frozen=True, slots=True)
class Content:
    """A piece of text given to an agent to learn.

    `source` is the provenance root that vouches for it (a file, a person, a feed). Only another source confirms a fact.
    `said_at` is when the text was said or written, ISO 8601 as precise as known ("2023-05", "2023-05-08T13:56"), or "".
    `is_whole`: this is all that the source says now (a file), in place of its former statements, and not one more of them.
    """

    text: str
    source: str
    said_at: str = ""
    speaker: str = ""
    title: str = ""
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Episode:
    """Content as it is kept: verbatim, and found again from every fact that derives from it.

    `learned_at_us` is microseconds since 1970-01-01 UTC.
    """

    id: str
    text: str
    source: str
    said_at: str
    learned_at_us: int
    speaker: str = ""
    title: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement taken out of content: extracted, unchecked, not yet kept.

    `concept` is its topic (004 calls it `context`), `confidence` is in [0, 1]. `before` is the text just before it in the same
    conversation or section: it helps to find the fact and is never shown as part of it. `keeps_lines`: its line breaks are part
    of it, as in code. `copied_from`: the digest of the source of which its own is a copy (`ids.source_digest`), or "".
    """

    content: str
    concept: str
    confidence: float
    said_at: str = ""
    speaker: str = ""
    before: str = ""
    entities: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    keeps_lines: bool = False
    copied_from: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Words of the content that became no statement, and why."""

    text: str
    reason: str


class SourceNote(msgspec.Struct, frozen=True):
    """`at_us` is microseconds since 1970-01-01 UTC, `digest` of the bytes that were read or "", `left_out` a count by reason."""

    at_us: int = 0
    digest: str = ""
    left_out: dict[str, int] = {}


class KnownSource(msgspec.Struct, frozen=True):
    """`facts` are current; `former` ones it said before, or a person replaced. `learned_at_us` is that of its last text.

    `vouches`: some facts count on it.
    """

    source: str
    vouches: bool
    facts: int
    former: int
    learned_at_us: int
    digest: str = ""
    left_out: dict[str, int] = {}
