"""Turns in order: exchanges become sessions of a domain on a day, turns documents with an id, a time and what came before."""

from collections.abc import Iterable
from datetime import datetime, time, timedelta
from itertools import groupby

from hive_mind.evals.datasets import Document
from hive_mind.evals.generating.drafts import Exchange, Kind, Turn
from hive_mind.evals.generating.world import World

# When a session of this kind begins, and the minutes it may take.
_HOURS: dict[Kind, tuple[time, int]] = {
    "log": (time(0, 20), 420),
    "chat": (time(9, 0), 420),
    "minutes": (time(16, 30), 60),
    "ticket": (time(18, 0), 120),
}
_MINUTES_BETWEEN_MAX = 3
_ID_DIGITS = 6


def documents_of(world: World, exchanges: Iterable[Exchange]) -> dict[Turn, Document]:
    """A document for each turn, in the order in which they were said."""

    def when(exchange: Exchange) -> tuple[object, ...]:
        return (world.day(exchange.slot, exchange.domain), _HOURS[exchange.kind][0], exchange.domain, exchange.rank)

    documents: dict[Turn, Document] = {}
    for _, session in groupby(sorted(exchanges, key=when), key=lambda exchange: when(exchange)[:-1]):
        _add_session(world, list(session), documents)
    return documents


def _add_session(world: World, exchanges: list[Exchange], documents: dict[Turn, Document]) -> None:
    first = exchanges[0]
    turns = [turn for exchange in exchanges for turn in exchange.turns]
    begin, minutes = _HOURS[first.kind]
    day = world.day(first.slot, first.domain)
    section = f"{first.kind}/{day}/{world.names.domain(first.domain)}"
    apart = timedelta(minutes=min(_MINUTES_BETWEEN_MAX, minutes / len(turns)))
    befores = ["", *(f"{turn.speaker}: {turn.text}" for turn in turns)]
    for number, (turn, before) in enumerate(zip(turns, befores, strict=False)):
        said_at = datetime.combine(day, begin) + number * apart
        documents[turn] = Document(
            id=f"t{len(documents) + 1:0{_ID_DIGITS}d}",
            text=turn.text,
            source=section,
            said_at=said_at.isoformat(timespec="minutes"),
            speaker=turn.speaker,
            section=section,
            before=before,
            kind=first.kind,
            topic=turn.topic,
        )
