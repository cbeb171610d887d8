"""Items to be forgotten for good, named by digests alone: a subject, a source, an agent or one fact.

A digest reveals no text, but a name that can be guessed can be checked, as with every digest of something short.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

from hive_mind.errors import InvalidInput
from hive_mind.model.content import Episode
from hive_mind.model.evidence import LISTS, said_of
from hive_mind.model.fact import Fact, Sharing
from hive_mind.model.ids import DEFAULT_TENANT, canonical, erasure_digest, normal
from hive_mind.regex import regex

Kind = Literal["subject", "source", "agent", "fact"]
KINDS: tuple[Kind, ...] = get_args(Kind)

SUBJECT_WORDS_MAX = 8
"""Every text is compared in windows as long as each subject in force, so the lengths of subjects are few."""

_WORD = regex(r"[^\W_]+")
_DIGEST = regex(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Erasure:
    """`words` is how many words the subject has, 0 for other kinds. `digest` of a fact is its id."""

    kind: Kind
    words: int
    digest: str

    @property
    def key(self) -> str:
        """As registries and records keep it: "subject/2/3f…"."""
        return f"{self.kind}/{self.words}/{self.digest}"


def erasure_of(kind: Kind, name: str, tenant: str = DEFAULT_TENANT) -> Erasure:
    """The erasure of a name. Raises `InvalidInput` where the name can't be one of this kind."""
    if kind == "fact":
        if not _DIGEST.fullmatch(name):
            raise InvalidInput(f"--fact {name!r} is not a fact's id: give its 32 digits, as `hive-mind facts list` shows them")
        return Erasure("fact", 0, name)
    if kind != "subject":
        if not canonical(name):
            raise InvalidInput(f"--{kind} is empty: give its name")
        return Erasure(kind, 0, erasure_digest(kind, canonical(name), tenant))
    words = words_of(name)
    if not 0 < len(words) <= SUBJECT_WORDS_MAX:
        raise InvalidInput(f"--subject {name!r} has {len(words)} words: give 1 to {SUBJECT_WORDS_MAX}")
    return Erasure("subject", len(words), erasure_digest(kind, " ".join(words), tenant))


def read_key(key: str) -> Erasure | None:
    kind, _, rest = key.partition("/")
    words, _, digest = rest.partition("/")
    if kind not in KINDS or not _DIGEST.fullmatch(digest) or not (words.isascii() and words.isdigit() and len(words) == 1):
        return None
    is_fitting = 0 < int(words) <= SUBJECT_WORDS_MAX if kind == "subject" else words == "0"
    return Erasure(kind, int(words), digest) if is_fitting else None


def words_of(text: str) -> list[str]:
    """The words of a text as subjects are compared: letter case, punctuation and forms of the same character don't matter."""
    return _words_as_written(normal(text))


def _words_as_written(text: str) -> list[str]:
    """As those of erasures of earlier versions: in the digits of each script, and with what nobody sees."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


class Erasures:
    """All that are in force, of one tenant. False where there are none, which is nearly always: then nothing is compared."""

    def __init__(self, erasures: Iterable[Erasure] = (), tenant: str = DEFAULT_TENANT) -> None:
        self._tenant = tenant
        self._digests: dict[Kind, set[str]] = {}
        self._lengths: set[int] = set()
        for erasure in erasures:
            self.add(erasure)

    def add(self, erasure: Erasure) -> None:
        """Put one in force; twice is once."""
        self._digests.setdefault(erasure.kind, set()).add(erasure.digest)
        self._lengths.update({erasure.words} - {0})

    def __contains__(self, erasure: Erasure) -> bool:
        return erasure.digest in self._digests.get(erasure.kind, ())

    def __bool__(self) -> bool:
        return bool(self._digests)

    def names_subject(self, texts: Iterable[str]) -> bool:
        return bool(self._lengths) and any(self._names_one(words) for text in texts for words in _ways_to_read(text))

    def covers_source(self, source: str) -> bool:
        """Whether a source is meant, or named after a subject that is."""
        return self._has("source", source) or self.names_subject([source])

    def covers_agent(self, agent: str) -> bool:
        return self._has("agent", agent)

    def covers_fact(self, fact_id: str, texts: Iterable[str]) -> bool:
        """Whether a fact is covered, from any source: by its id, or by the subjects its texts name."""
        return fact_id in self._digests.get("fact", ()) or self.names_subject(texts)

    def covers_episode(self, episode: Episode) -> bool:
        """Whether a text is meant: where it comes from, or for a subject that it names anywhere."""
        texts = (episode.text, episode.title, episode.summary, episode.speaker)
        return self.covers_source(episode.source) or self.names_subject(texts)

    def _has(self, kind: Kind, name: str) -> bool:
        digests = self._digests.get(kind)
        return digests is not None and erasure_digest(kind, canonical(name), self._tenant) in digests

    def _names_one(self, words: list[str]) -> bool:
        digests = self._digests["subject"]
        return any(
            erasure_digest("subject", " ".join(words[start : start + length]), self._tenant) in digests
            for length in self._lengths
            for start in range(len(words) - length + 1)
        )


def _ways_to_read(text: str) -> Iterator[list[str]]:
    yield (words := words_of(text))
    if not text.isascii() and (as_written := _words_as_written(text)) != words:
        yield as_written


def looked_through(record: object) -> tuple[str, ...]:
    """All of what a fact says in which a subject may be named, but the words before it and its date."""
    by_field = said_of(record)
    names = [name for key in LISTS for name in by_field.pop(key)]
    return (*(text for key, text in by_field.items() if key not in ("before", "said_at")), *names)


def remainder(fact: Fact, erasures: Erasures) -> Fact | None:
    """The part of a fact that may stay: None for nothing, the same fact where nothing of it is meant.

    A fact that other sources vouch for too loses only the source that is meant, and the words before it that name a subject; the
    hive gets it anew then, for its own is another statement.
    """
    if erasures.covers_fact(fact.id, looked_through(fact)):
        return None
    sources = tuple(source for source in fact.sources if not erasures.covers_source(source))
    before = "" if erasures.names_subject([fact.before]) else fact.before
    if not sources:
        return None
    if sources == fact.sources and before == fact.before:
        return fact
    sharing = fact.sharing if fact.is_retracted else Sharing.PRIVATE
    return replace(fact.said_by(sources), before=before, sharing=sharing, offered=())
