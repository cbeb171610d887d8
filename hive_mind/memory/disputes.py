"""Which of the facts that are shown can't be true beside one another, and what speaks for each of them.

Nothing is left out for it: a reader sees both, which is newer, and which has more sources. A node marks what it holds
(status "disputed"); here the facts of one answer are compared, because two that disagree may be kept by different nodes.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import merge
from itertools import chain, combinations, product

from hive_mind.awaiting import off_loop
from hive_mind.counted import counted
from hive_mind.hive.trust.contradiction import Worded, corrects, excluding, may_exclude, signed, topic, vote
from hive_mind.model.evidence import Statement, said_of
from hive_mind.model.fact import Fact
from hive_mind.model.ids import canonical
from hive_mind.model.query import Hit
from hive_mind.ornament import ornament
from hive_mind.ranking.tokens import terms_in
from hive_mind.regex import regex

# Every two of them are compared, and nobody reads further.
_COMPARED_MAX = 50
_RIVALS_SHOWN_MAX = 2
_CHARACTERS_SHOWN_MAX = 120
# "Sorry", "I was wrong", in other languages.
_EXCUSE = (
    r"sorry|entschuldig\w*|pardon|désolée?|perd[oóã]n\w*|disculp\w*|scus\w*|desculp\w*|przepraszam|извини\w*|прости\w*|пардон|"
    r"виба\w*|förlåt|undskyld|beklager|promiň\w*|scuze|bocsánat\w*|anteeksi|συγγνώμη|ich habe mich (?:geirrt|vertan)|"
    r"me equivoqué|je me suis trompée?|mi sono sbagliat[oa]|enganei-me|me enganei|pomyliłam? się|(?:я )?(?:ошиб|помили)\w+|"
    r"spletla? jsem se|ik vergiste me|jag hade fel|jeg tog fejl|jeg tok feil|am greșit|yanıldım|tévedtem|erehdyin"
)
_NO = "no|nein|non|nee|não|nej|nie|нет|hayır|nu|όχι|لا|नहीं|wait|update|edit"
# "No, it is 9443 now."
_OPENER = regex(
    # "No parking" and "wait ten minutes" correct nothing.
    r"^(?:(?:(?:update|edit(?:ed)?|correction|korrektur|nachtrag|corrección|correzione)"
    r"(?:\s(?:\d{1,2}[:.]\d\d|\d{4}-\d\d-\d\d)){1,2}(?=\s?[:,–-])|"
    rf"(?:{_NO})\b(?=\s?[,.:;!–-]|\s+(?:it|that|they|he|she|we|i|sorry|sono|è|es|son|c['’]est)\b|\s*$)|nope|correction|korrektur|"
    r"corrección|correzione|actually|scratch that|strike that|make that|change of plans?|i meant|ich meinte|je voulais dire|"
    rf"quise decir|not any ?more|nicht mehr|ya no|non più|niet meer|{_EXCUSE})\b(?:[,.:;! –-]{{1,3}}(?:to say )?|$))+",
    re.IGNORECASE,
)
_DENIED = regex(rf"(?:{_NO})\b", re.IGNORECASE)
_NOW = (
    r"\b(?:now|instead|jetzt|inzwischen|nun|stattdessen|maintenant|désormais|ahora|adesso|ora|agora|teraz|теперь|сейчас|artık|şimdi|"
    r"acum|τώρα|الآن|nu)\b"
)
_CORRECTING = regex(
    rf"^(?:it|he|she|they|that|es|er|sie|das|il|elle|ce|c['’]est|est[áa]|lo|è|é)\b[^.!?]{{0,60}}{_NOW}|"
    r"^(?:the|die|der|le|la|el|il|o|a) (?:number|figure|total|date|price|zahl|summe|nombre|número) (?:was|is|war|ist|era|es)\b|"
    rf"^(?:ahora|jetzt|maintenant|now|ora|agora)\b|^it (?:has )?(?:moved|changed) to\b",
    re.IGNORECASE,
)
_NOW_SAID = regex(rf"\s{_NOW}", re.IGNORECASE)
_CHANGED = regex(
    r"\b(?:moved|changed|switched|renamed|postponed|rescheduled|replaced|slip(?:s|ped)|delayed|pushed|brought forward|"
    r"no longer)\b",
    re.IGNORECASE,
)
_PAST = regex(r"\b(?:was|were|had|did|went|got|made|took|gave|came|saw|said|met|[a-z]{2,30}ed)\b", re.IGNORECASE)
_DAY_CHARACTERS = len("2026-05-04")
_SENTENCE_END = regex(r"(?<=[.!?])\s+")
# "We moved it, the database runs on db-9." Other words before a comma may say when or where.
_LEAD = regex(r"^(?:i|we|they|he|she|ich|wir|sie|je|nous|on)\b[^,.:;]{2,40}[,:;] (?=\w)", re.IGNORECASE)
_SENTENCES_MAX = 4
# "Thu: 12-20" says nothing of Friday: who speaks says a few words.
_LABEL = regex(r"^[^\W\d_][\w .'’-]{0,40}: (?=[^\W\d_]\S*\s\S+\s)")
# A question and its answer are one fact.
_SAID_BEHIND = regex(r"^[^?\n]{1,300}\?\s+[^\W\d_][\w .'’-]{0,40}: ")
_SUBJECT = regex(
    r"(?:the|our|de|het|der|die|das|la|le|les|el|los|las|il|lo|gli|os?|as?)\s(?P<noun>[^\W\d_]{3,40})\b", re.IGNORECASE
)
_FIGURE = regex(r"\d")
_VALUE = regex(r"\d|(?<=\w )[^\W\d_a-z]")
# "Not quay 3 but quay 5"
_INSTEAD = regex(
    r"\b(?:not\s(?:(?:on|at|in|to|the)\s){0,2}(?P<en>[^,.;:!?]{2,40}?),?\sbut|nicht\s(?:(?:am|um|an|in|der|die|das)\s){0,2}"
    r"(?P<de>[^,.;:!?]{2,40}?),?\ssondern|no\s(?:(?:el|la|en|a)\s){0,2}(?P<es>[^,.;:!?]{2,40}?),?\ssino|"
    r"(?:pas|non)\s(?:(?:le|la|au|à|il)\s){0,2}(?P<fr>[^,.;:!?]{2,40}?),?\s(?:mais|ma))\s",
    re.IGNORECASE,
)
# A sentence is about the words in front of it.
_VERB = regex(
    r"[:?!;]|\b(?:is|are|was|were|has|have|moved?|moves|changed?|switched|renamed|postponed|rescheduled|replaced|slip(?:s|ped)|delayed|pushed|brought|now|instead|ist|"
    r"sind|est|sont|es|son|è|sono)\b",
    re.IGNORECASE,
)
# "8 April: …" says when, and not of what.
_STAMP = regex(
    r"^\W{0,3}(?:[^\W\d_]{2,12}[.,]? ){0,2}\d{1,4}[^\s:]{0,12}(?: [^\W\d_]{3,12}\.?)?(?: \d{4})?,?(?: \d{1,2}[:.]\d\d)?\s?[:–-]\s"
)
_PLACED = regex(
    rf"(?P<thing>[^,.;:!?]{{2,60}}?)\s(?:is|are|stands?|lies?|hangs?|lives?|sits?|ist|liegt|steht|hängt|wohnt|est|"
    r"se trouve|está|è|si trova)"
    rf"(?:\s(?:{_NOW}|kept|stored))?\s(?:in|on|at|under|with|behind|by|near|above|below|inside|next\sto|im|am|auf|unter|bei|beim|hinter|"
    r"neben|dans|sur|sous|chez|en|con|bajo|sobre|sotto|nel|nella|sul|sulla|da)\s",
    re.IGNORECASE,
)
_TAKEN_OVER = regex(r"\b(?:takes?|took) over (?:as|from|for) (?P<role>[^,.;:!?]{2,60})", re.IGNORECASE)
# One day or hour may be put in the place of another.
_WHEN = regex(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|lundi|mardi|mercredi|jeudi|"
    r"vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo|\d{1,2}:\d\d|\d{1,2}\s?[ap]\.?m|"
    r"\d{1,2}(?:[.:]\d\d)?\sUhr)\b",
    re.IGNORECASE,
)
# Notes of this kind are about something further up, and name it.
_NOTED = regex(r"(?:update|edit(?:ed)?|correction|korrektur|nachtrag|corrección|correzione)\b", re.IGNORECASE)
_POINTING = regex(r"\b(?:it|its|that|this|they|he|she|es|er|sie|das|il|elle|ce|lo|lui)\b", re.IGNORECASE)
_AMOUNT = regex(r"(?P<figure>\d{1,9}(?:[.,]\d{1,9}){0,3})\s?(?P<unit>[^\W\d_]{1,12}|[%€$£])(?![\w-])")
_KEYED = regex(r"(?P<key>[^\W\d_][^:\n]{2,40}):\s\S")
_IS = regex(r"\s?(?::|=|\s(?:is|are|ist|sind|est|sont|es|son|è|sono)\b)", re.IGNORECASE)
_TELLING_LETTERS_MIN = 4


@ornament(lambda hits, *_: list(hits))
def with_rivals(hits: Sequence[Hit], named: Mapping[str, Sequence[Fact]]) -> list[Hit]:
    """The hits, each with the other facts it can't be true beside: those among the hits, and those `named` by its id."""
    found: defaultdict[str, dict[str, Fact]] = defaultdict(dict)
    about: defaultdict[str, list[Fact]] = defaultdict(list)
    for hit in hits[:_COMPARED_MAX]:
        if hit.fact.is_current and hit.fact.concept:
            about[canonical(hit.fact.concept).casefold()].append(hit.fact)
    for fact, other_fact in chain.from_iterable(_conflicting(facts) for facts in about.values() if len(facts) > 1):
        found[fact.id][other_fact.id], found[other_fact.id][fact.id] = other_fact, fact
    for fact_id, facts in named.items():
        found[fact_id] |= {other.id: other for other in facts if other.is_current}
    return [replace(hit, rivals=tuple(rivals.values())) if (rivals := found.get(hit.fact.id)) else hit for hit in hits]


@ornament(lambda hits, *_: list(hits))
def likeliest_first(hits: Sequence[Hit], votes: Mapping[str, float | None]) -> list[Hit]:
    """Facts that can't be true beside one another keep their places among the rest; those with more votes come first of them.

    `votes` are log-odds by id. Where they are None for all of a group, nothing is known of their agents, and the order stays.
    """
    placed = list(hits)
    for places in _groups(hits):
        if any(votes.get(hits[place].fact.id) is not None for place in places):
            ordered = sorted(places, key=lambda place: -_vote(hits[place].fact, votes))
            for place, source in zip(places, ordered, strict=True):
                placed[place] = hits[source]
    return placed


@ornament(lambda hits: list(hits))
def later_first(hits: Sequence[Hit]) -> list[Hit]:
    """Where a conversation, a thread or minutes say something anew, the later statement stands ahead of the one it replaces."""
    placed: list[Hit] = []
    for hit in hits:
        place = next((number for number, earlier in enumerate(placed) if replaces(hit.fact, earlier.fact)), len(placed))
        placed.insert(place, hit)
    return placed


def corrections_of(hits: Sequence[Hit], candidates: Iterable[Hit]) -> list[Hit]:
    """The candidates that correct one of the hits in words that say nothing without it: "No, on Monday now."."""
    ids = {hit.fact.id for hit in hits}
    left = (hit for hit in candidates if hit.fact.id not in ids and hit.fact.before)
    return [hit for hit in left if any(_corrects_last(hit.fact, told.fact) or _moved(hit.fact, told.fact) for told in hits)]


def _moved(later: Fact, earlier: Fact) -> bool:
    return not set(later.sources).isdisjoint(earlier.sources) and _later(later, earlier) > 0 and _moves(later, earlier)


def _corrects_last(later: Fact, earlier: Fact) -> bool:
    """Whether a fact follows another, or answers it, and gives another value in its place."""
    said, former = _said(later), _said(earlier)
    message = _SAID_BEHIND.sub("", said, count=1)
    # "No" answers the question that it stands behind.
    is_opened = _OPENER.match(message) is not None and not (message != said and _DENIED.match(message))
    # "No, the move is on Friday" behind a word about keys corrects an earlier one.
    subject = _SUBJECT.match(_OPENER.sub("", message))
    if subject and subject["noun"].casefold() not in former.casefold() and not _CORRECTING.match(message):
        return False
    if (
        _INSTEAD.search(message)
        or former not in later.before
        or not (is_opened or _CORRECTING.search(_LEAD.sub("", message, count=1)))
    ):
        return False
    if _WHEN.search(message) and not _WHEN.search(_OPENER.sub("", former)) and not _VALUE.search(_WHEN.sub("", message)):
        # Another day is none in the place of wine.
        return False
    if _NOTED.match(message) and not _POINTING.search(message) and terms_in(message).isdisjoint(terms_in(former)):
        return False
    return bool((_VALUE if is_opened or not _FIGURE.search(former) else _FIGURE).search(message))


def _moves(later: Fact, earlier: Fact) -> bool:
    """Whether a fact says that it puts another value, of the same kind, in the place of one that is said further up."""
    message, former = _said(later), _said(earlier)
    for instead in _INSTEAD.finditer(message):
        value = next(filter(None, instead.groups()))
        if (_FIGURE.search(value) or _OPENER.match(message)) and terms_in(value) <= terms_in(former):
            return True
    if (role := _TAKEN_OVER.search(message)) and terms_in(role["role"]) <= terms_in(former):
        return True
    is_put_right = _OPENER.match(message) is not None or _NOW_SAID.search(message) is not None
    if not (is_put_right or _CHANGED.search(message)):
        return False
    # The time behind "Update", or in front of an entry, is when that is said.
    message, former = (_STAMP.sub("", _OPENER.sub("", text), count=1) for text in (message, former))
    if (keyed := _KEYED.match(earlier.content)) and _given_anew(keyed["key"], message):
        return True
    placed, placed_before = (_PLACED.match(text) for text in (message, former))
    if is_put_right and placed and placed_before and terms_in(placed["thing"]) == terms_in(placed_before["thing"]):
        return True
    subject = [word for word in terms_in(_WHEN.sub("", _VERB.split(message, maxsplit=1)[0])) if len(word) >= _TELLING_LETTERS_MIN]
    if not terms_in(former).issuperset(subject):
        return False
    amounts, amounts_before = (
        {match["unit"].casefold(): match["figure"] for match in _AMOUNT.finditer(text)} for text in (message, former)
    )
    if is_put_right and subject and any(amounts_before.get(unit, figure) != figure for unit, figure in amounts.items()):
        return True
    times, times_before = (set(map(str.casefold, _WHEN.findall(text))) for text in (message, former))
    is_former_named = is_put_right and bool(times & times_before)
    return bool(times_before and times - times_before) and (is_former_named or bool(subject))


def _given_anew(key: str, message: str) -> bool:
    """Whether "Night shift is Ewa and Pavel" gives the field "Night shift" another value."""
    place = message.casefold().find(key.casefold())
    return place >= 0 and _IS.match(message, place + len(key)) is not None


def _said(fact: Fact) -> str:
    """Without its speaker. "Correction: …" is no label."""
    return fact.content if _OPENER.match(fact.content) else _LABEL.sub("", fact.content, count=1)


def _clauses(fact: Fact) -> Iterator[tuple[Statement, bool]]:
    """The sentences of a fact as statements of their own, without words that say only that they correct; and whether they do."""
    said = said_of(fact)
    for sentence in _SENTENCE_END.split(_said(fact))[:_SENTENCES_MAX]:
        clause = _NOW_SAID.sub("", _OPENER.sub("", sentence))
        is_marked = clause != sentence or _CHANGED.search(sentence) is not None
        for text in {clause, _LEAD.sub("", clause, count=1)}:
            yield Statement(**{**said, "content": text}), is_marked


def replaces(later: Fact, earlier: Fact) -> bool:
    """Whether a fact says anew what one of the same source said before, or what it answers."""
    if _corrects_last(later, earlier):
        return True
    if set(later.sources).isdisjoint(earlier.sources) or _later(later, earlier) <= 0:
        return False
    if _moves(later, earlier):
        return True
    is_newer = _is_of_later_day(later, earlier)
    return corrects(Statement(**said_of(later)), Statement(**said_of(earlier)), is_marked=is_newer) or any(
        corrects(clause, former, is_marked=is_marked)
        for (clause, is_marked), (former, _) in product(_clauses(later), list(_clauses(earlier)))
    )


def _is_of_later_day(later: Fact, earlier: Fact) -> bool:
    """Whether minutes of a later day say what holds. What happened did so on each of the days."""
    if later.speaker or earlier.speaker or min(len(later.said_at), len(earlier.said_at)) < _DAY_CHARACTERS:
        return False
    is_later = later.said_at[:_DAY_CHARACTERS] > earlier.said_at[:_DAY_CHARACTERS]
    return is_later and not any(_PAST.search(fact.content) for fact in (later, earlier))


@ornament(lambda _: [])
def disputed(facts: Iterable[Fact]) -> list[tuple[Fact, Fact]]:
    """Pairs of current facts that can't both be true. Of a topic with very many facts the newest are compared."""
    current = [fact for fact in facts if fact.is_current]
    names = [canonical(fact.concept).casefold() for fact in current]
    often = Counter(names)
    about: defaultdict[str, list[Fact]] = defaultdict(list)
    for name, fact in zip(names, current, strict=True):
        # Most topics of a large memory have one fact: a list for each took as long as all the rest.
        if often[name] > 1:
            about[name].append(fact)
    newest = (sorted(some, key=lambda fact: -fact.learned_at_us)[:_COMPARED_MAX] for some in about.values())
    return [pair for some in newest for pair in _conflicting(some)]


async def conflicts_of(facts: Sequence[Fact]) -> list[tuple[Fact, Fact]]:
    """The pairs of `disputed`, the newest first."""
    pairs = await off_loop(sum(len(fact.content) for fact in facts), disputed, facts)
    return sorted(pairs, key=lambda pair: (-max(fact.learned_at_us for fact in pair), pair[0].id, pair[1].id))


def disputable(facts: Sequence[Fact], others: Sequence[Worded]) -> set[str]:
    """Ids of the facts that may be in a pair of `disputed`, as their signatures tell. Both come in the order of a listing."""
    topics = {fact.id: topic(fact.concept) for fact in facts}
    often = Counter(chain(topics.values(), (fact.concept for fact in others)))
    here = (
        Worded(fact.id, fact.learned_at_us, topics[fact.id], signed(fact.content, fact.speaker))
        for fact in facts
        if often[topics[fact.id]] > 1
    )
    about: defaultdict[bytes, list[Worded]] = defaultdict(list)
    for fact in merge(here, (fact for fact in others if often[fact.concept] > 1), key=lambda fact: -fact.learned_at_us):
        about[fact.concept].append(fact)
    found = set[str]()
    for some in about.values():
        newest = sorted(some, key=lambda fact: -fact.learned_at_us)[:_COMPARED_MAX]
        signatures = [(fact.fact_id, fact.signature) for fact in newest]
        for (fact_id, signature), (rival_id, its) in combinations(signatures, 2):
            if may_exclude(signature, its):
                found |= {fact_id, rival_id}
    return found


def _groups(hits: Sequence[Hit]) -> list[list[int]]:
    """The places of hits that are rivals, directly or through one another; only groups of several."""
    by_id = {hit.fact.id: place for place, hit in enumerate(hits)}
    found: list[list[int]] = []
    seen: set[int] = set()
    for first in range(len(hits)):
        group, waiting = set[int](), [first]
        while waiting:
            place = waiting.pop()
            if place not in group and place not in seen:
                group.add(place)
                waiting += [by_id[rival.id] for rival in hits[place].rivals if rival.id in by_id]
        seen |= group
        if len(group) > 1:
            found.append(sorted(group))
    return found


def _vote(fact: Fact, votes: Mapping[str, float | None]) -> float:
    known = votes.get(fact.id)
    return known if known is not None else vote(1.0, fact.confidence)


@ornament(lambda _: "")
def dispute_text(hit: Hit) -> str:
    """The rivals of a fact, and which of the two is newer and better supported; "" where there are none."""
    rivals = [_rival_text(hit.fact, rival) for rival in hit.rivals[:_RIVALS_SHOWN_MAX]]
    left_out = len(hit.rivals) - len(rivals)
    return "disputed: " + "; ".join([*rivals, *([f"{left_out} more"] if left_out else [])]) if rivals else ""


def _conflicting(facts: Sequence[Fact]) -> Iterator[tuple[Fact, Fact]]:
    """Pairs of facts about one thing that can't both be true. Most are alone, which costs nothing."""
    statements = {fact.id: Statement(**said_of(fact)) for fact in facts} if len(facts) > 1 else {}
    by_id = {fact.id: fact for fact in facts}
    for one, statement in list(statements.items()):
        del statements[one]
        yield from ((by_id[one], by_id[other]) for other in excluding(statement, statements.items()))


def _rival_text(fact: Fact, rival: Fact) -> str:
    here, there = len(fact.sources), len(rival.sources)
    text = rival.content if len(rival.content) <= _CHARACTERS_SHOWN_MAX else rival.content[:_CHARACTERS_SHOWN_MAX] + "…"
    age = {1: "newer", 0: "as old", -1: "older"}[_later(rival, fact)]
    if here == there:
        return f"“{text}” is {age} and as well supported ({counted(there, 'source')} each)"
    link = "and" if (age == "newer") == (there > here) else "but"
    return (
        f"“{text}” is {age} {link} {'better' if there > here else 'less'} supported ({counted(there, 'source')} against {here})"
    )


def _later(one: Fact, fact: Fact) -> int:
    """1 where `one` is newer, -1 where it is older: as they were said, where that is known of both, else as they were learned."""
    precision = min(len(one.said_at), len(fact.said_at))
    if one.said_at[:precision] != fact.said_at[:precision]:
        return 1 if one.said_at > fact.said_at else -1
    return (one.learned_at_us > fact.learned_at_us) - (one.learned_at_us < fact.learned_at_us)
