"""The vocabulary: names and patterns of sentences, read once from the JSON files of `vocabulary/`.

Statements and questions about the same thing are worded apart on purpose: a search for the question's words alone must not find
everything.
"""

from functools import lru_cache
from importlib.resources import files
from typing import TypeVar

import msgspec

Patterns = tuple[str, ...]


class Names(msgspec.Struct, frozen=True):
    """Word lists that names are put together from."""

    first: str
    last: str
    projects_first: str
    projects_second: str
    places: str
    companies_first: str
    companies_second: str
    hosts: str
    host_roles: str
    domains: str


class Attribute(msgspec.Struct, frozen=True):
    """Something a project has: how people say it (`{it}`, `{value}`), its name in questions, how it is asked for."""

    key: str
    kind: str
    noun: str
    said: Patterns
    asked: Patterns
    changed: Patterns = ()


class Discovery(msgspec.Struct, frozen=True):
    """A thing that is said in one go, and its words that answer. `noun` names it in questions, `kind` is that of its value."""

    said: Patterns
    answer: str
    asked: Patterns = ()
    noun: str = ""
    kind: str = ""


class ProjectWords(msgspec.Struct, frozen=True):
    """Of projects."""

    openers: Patterns
    between: Patterns
    reactions: Patterns
    chatter: Patterns
    attributes: tuple[Attribute, ...]
    fixed: tuple[Attribute, ...]
    plainly: Patterns
    plainly_changed: Patterns
    former: Patterns
    as_of: Patterns
    contradicted: Patterns
    recorded: Patterns
    overview: Patterns
    unknown: Patterns
    minutes: Patterns
    milestones: tuple[Discovery, ...]
    order: Patterns
    decisions: tuple[Discovery, ...]
    procedures: tuple[Discovery, ...]
    person_rooms: Patterns
    room_asked: Patterns


class IncidentWords(msgspec.Struct, frozen=True):
    """Of incidents."""

    alarms: Patterns
    opened: Patterns
    looked: Patterns
    causes: tuple[Discovery, ...]
    leads: dict[str, Patterns]
    cause_asked: Patterns
    fixes: tuple[Discovery, ...]
    fix_asked: Patterns
    impacts: tuple[Discovery, ...]
    impact_asked: Patterns
    closed: Patterns
    overview_asked: Patterns
    number_asked: Patterns


class SecurityWords(msgspec.Struct, frozen=True):
    """Of security logs."""

    failed: Patterns
    accepted: Patterns
    attempts_asked: Patterns
    responses: tuple[Discovery, ...]
    response_asked: Patterns
    noticed: Patterns
    badges: Patterns
    badges_fine: Patterns
    badge_asked: Patterns


class Topic(msgspec.Struct, frozen=True):
    """Something people tell about themselves when a colleague gives them an opening."""

    noun: str
    opener: Patterns
    said: Patterns
    asked: Patterns
    values: Patterns


class PeopleWords(msgspec.Struct, frozen=True):
    """Of people."""

    topics: tuple[Topic, ...]
    chatter: Patterns


class SmallTalk(msgspec.Struct, frozen=True):
    """Of nothing."""

    patterns: Patterns
    weather: Patterns
    mood: Patterns
    thing: Patterns
    food: Patterns
    event: Patterns
    colour: Patterns
    weekday: Patterns


class Words(msgspec.Struct, frozen=True):
    """All of them."""

    names: Names
    projects: ProjectWords
    incidents: IncidentWords
    security: SecurityWords
    people: PeopleWords
    smalltalk: SmallTalk


Shape = TypeVar("Shape")


@lru_cache(maxsize=1)
def words() -> Words:
    """The vocabulary of the package."""
    return Words(
        _read("names", Names),
        _read("projects", ProjectWords),
        _read("incidents", IncidentWords),
        _read("security", SecurityWords),
        _read("people", PeopleWords),
        _read("smalltalk", SmallTalk),
    )


def _read(name: str, shape: type[Shape]) -> Shape:
    return msgspec.json.decode(files(__package__).joinpath("vocabulary", f"{name}.json").read_bytes(), type=shape)
