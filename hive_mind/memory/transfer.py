"""A memory as JSON Lines and back: to keep, to move, to read in an editor.

One object a line, `type` first: "episode", "fact" or "link". Nothing in a file is believed: ids are computed from content again,
every field is checked, and one bad line means that nothing is taken in.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.memory.intake import NAME_CHARACTERS_MAX, STATEMENT_CHARACTERS_MAX
from hive_mind.memory.waking import Awake
from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation, Sharing
from hive_mind.model.ids import canonical, episode_id, fact_id
from hive_mind.store.base import AddEpisode, Change, Link

_PROBLEMS_SHOWN = 10
# A message may quote the line, and a line may be of any length.
_PROBLEM_CHARACTERS_MAX = 300

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_CHARACTERS_MAX)]
NameOrNone = Annotated[str, msgspec.Meta(max_length=NAME_CHARACTERS_MAX)]
Text = Annotated[str, msgspec.Meta(max_length=STATEMENT_CHARACTERS_MAX)]
Id = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
# From 1970 to the year 9999.
Microseconds = Annotated[int, msgspec.Meta(ge=0, le=253_402_300_799_000_000)]


class _FactLine(msgspec.Struct, tag_field="type", tag="fact", forbid_unknown_fields=True, omit_defaults=True):
    content: Annotated[str, msgspec.Meta(min_length=1, max_length=STATEMENT_CHARACTERS_MAX)]
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    sources: Annotated[list[Name], msgspec.Meta(min_length=1)]
    learned_at_us: Microseconds
    id: str = ""
    concept: Text = ""
    said_at: NameOrNone = ""
    speaker: NameOrNone = ""
    before: Text = ""
    entities: list[Name] = []
    labels: list[Name] = []
    sharing: Sharing = Sharing.PRIVATE
    superseded_by: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{32})?$")] = ""
    held_back: NameOrNone = ""


class _EpisodeLine(msgspec.Struct, tag_field="type", tag="episode", forbid_unknown_fields=True, omit_defaults=True):
    text: str
    source: Name
    learned_at_us: Microseconds
    id: str = ""
    said_at: str = ""
    speaker: str = ""
    title: str = ""
    summary: str = ""


class _LinkLine(msgspec.Struct, tag_field="type", tag="link", forbid_unknown_fields=True):
    relation: Relation
    from_id: Id
    to_id: Id


_Line = _FactLine | _EpisodeLine | _LinkLine
_decoder = msgspec.json.Decoder(_Line)


@dataclass(frozen=True, slots=True)
class Records:
    """What lines held: facts to take in, and everything else as changes."""

    facts: tuple[Fact, ...]
    changes: tuple[Change, ...]


async def write_records(awake: Awake) -> AsyncIterator[str]:
    """Every episode, every fact, every link between them; the same memory gives the same lines."""
    # Others may write meanwhile: facts as they are now, and no links to what came later.
    facts = list(awake.recall.facts.values())
    written = {fact.id for fact in facts}
    async for episodes in awake.store.all_episodes():
        for episode in episodes:
            written.add(episode.id)
            yield _encoded(msgspec.convert(msgspec.to_builtins(episode) | {"type": "episode"}, _EpisodeLine))
    for fact in facts:
        yield _encoded(_fact_line(fact))
    # Mentions are left out: they follow from a fact's entities and are made again on import.
    found = [link async for links in awake.store.links() for link in links if link.relation is not Relation.MENTIONS]
    for link in sorted(found, key=lambda link: (link.relation, link.from_id, link.to_id)):
        if {link.from_id, link.to_id} <= written:
            yield _encoded(_LinkLine(link.relation, link.from_id, link.to_id))


def _fact_line(fact: Fact) -> _FactLine:
    fields: dict[str, object] = msgspec.to_builtins(fact)
    # What this agent has told its hive is between the two of them, and nothing whoever reads the lines could rely on.
    del fields["offered"]
    if not fact.is_retracted:
        del fields["sharing"]
    return msgspec.convert(fields | {"type": "fact"}, _FactLine)


def read_records(lines: Sequence[str]) -> Records:
    """Lines as records. Raises `InvalidInput` that names the first bad lines and what is wrong with each."""
    problems: list[str] = []
    parsed: list[_Line] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                parsed.append(_checked(_decoder.decode(line.encode())))
            except (msgspec.MsgspecError, UnicodeError, RecursionError, InvalidInput) as error:
                problems.append(f"line {number}: {str(error)[:_PROBLEM_CHARACTERS_MAX]}")
    problems = problems or _dangling(parsed)
    if problems:
        more = f"\n  … and {len(problems) - _PROBLEMS_SHOWN} more" if len(problems) > _PROBLEMS_SHOWN else ""
        raise InvalidInput("nothing was imported:\n  " + "\n  ".join(problems[:_PROBLEMS_SHOWN]) + more)
    facts = tuple(_fact(line) for line in parsed if isinstance(line, _FactLine))
    episodes = [AddEpisode(_episode(line)) for line in parsed if isinstance(line, _EpisodeLine)]
    links = [Link(line.relation, line.from_id, line.to_id) for line in parsed if isinstance(line, _LinkLine)]
    return Records(facts, (*episodes, *(link for link in links if link.relation is not Relation.MENTIONS)))


def _checked(line: _Line) -> _Line:
    """The line, if its id is that of its content and its text says something."""
    match line:
        case _FactLine(id=given, content=content):
            _match(given, fact_id(content))
            if not any(character.isalnum() for character in content):
                raise InvalidInput("a fact needs words: `content` has neither letters nor digits")
        case _EpisodeLine(id=given, text=text, source=source):
            _match(given, episode_id(text, source))
        case _LinkLine():
            pass
    return line


def _match(given: str, computed: str) -> None:
    if given and given != computed:
        raise InvalidInput(f"`id` is not that of this content ({computed}): leave it out, it is computed")


def _dangling(lines: Sequence[_Line]) -> list[str]:
    """Links and supersessions to what the lines do not hold."""
    held = {fact_id(line.content) for line in lines if isinstance(line, _FactLine)}
    held |= {episode_id(line.text, line.source) for line in lines if isinstance(line, _EpisodeLine)}
    wanted = [end for line in lines if isinstance(line, _LinkLine) for end in (line.from_id, line.to_id)]
    wanted += [line.superseded_by for line in lines if isinstance(line, _FactLine) and line.superseded_by]
    return [
        f"{end} is named and not held by any line: export both ends together" for end in dict.fromkeys(wanted) if end not in held
    ]


def _fact(line: _FactLine) -> Fact:
    # How far a fact had gone into another hive is nothing this memory can vouch for; that it was taken back is.
    sharing = Sharing.RETRACTED if line.sharing is Sharing.RETRACTED else Sharing.PRIVATE
    return Fact(
        id=fact_id(line.content),
        content=canonical(line.content),
        concept=line.concept,
        confidence=line.confidence,
        sources=tuple(dict.fromkeys(line.sources)),
        learned_at_us=line.learned_at_us,
        said_at=line.said_at,
        speaker=line.speaker,
        before=line.before,
        entities=tuple(line.entities),
        labels=tuple(line.labels),
        sharing=sharing,
        superseded_by=line.superseded_by,
        held_back=line.held_back,
    )


def _episode(line: _EpisodeLine) -> Episode:
    identity = episode_id(line.text, line.source)
    return Episode(identity, line.text, line.source, line.said_at, line.learned_at_us, line.speaker, line.title, line.summary)


def _encoded(line: _Line) -> str:
    return msgspec.json.encode(line).decode()
