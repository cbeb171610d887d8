"""Input: raw content, the episode it is kept as, and the candidates a reader takes out of it."""

from dataclasses import dataclass

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
