"""Corrections: which statement of a conversation, a thread or minutes says anew what an earlier one said.

Three things show it. It follows the other one, and its words say that they correct what was said last ("No, on Sunday now."). Or
it names what it is about and puts another value of the same kind in the place of one further up: `_PUT_ANEW` has those kinds. Or
both say the same of the same thing, but for the value, which is for `hive.trust.contradiction` to see.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import product

from hive_mind.cognition.answering.wordings import bent_terms, leaning, likeness
from hive_mind.cognition.temporal import DAYS_ELSEWHERE
from hive_mind.hive.trust.contradiction import corrects
from hive_mind.memory.disputes import order_said
from hive_mind.model.evidence import Statement, said_of
from hive_mind.model.fact import Fact
from hive_mind.model.ids import UNSPACED
from hive_mind.model.query import Hit
from hive_mind.ornament import ornament
from hive_mind.ranking.tokens import terms_in
from hive_mind.regex import regex

# "Sorry", "I was wrong", in other languages.
_EXCUSE = (
    r"sorry|entschuldig\w*|pardon|désolée?|perd[oóã]n\w*|disculp\w*|scus\w*|desculp\w*|przepraszam|извини\w*|прости\w*|пардон|"
    r"виба\w*|förlåt|undskyld|beklager|promiň\w*|scuze|bocsánat\w*|anteeksi|συγγνώμη|ich habe mich (?:geirrt|vertan)|"
    r"me equivoqué|je me suis trompée?|mi sono sbagliat[oa]|enganei-me|me enganei|pomyliłam? się|(?:я )?(?:ошиб|помили)\w+|"
    r"spletla? jsem se|ik vergiste me|jag hade fel|jeg tog fejl|jeg tok feil|am greșit|yanıldım|tévedtem|erehdyin"
)
_NO = "no|nein|non|nee|não|nej|nie|нет|hayır|nu|όχι|لا|नहीं|wait|update|edit"
# "Correction:" in other languages, and "moved", "postponed".
_CORRECTION_ELSEWHERE = (
    r"nachtrag|korrektur|änderung|rectificatif|correction|changement|rectificaci[óo]n|correcci[óo]n|cambio|correzione|"
    r"rettifica|modifica|correção|retificação|alteração|correctie|wijziging|rättelse|ändring|rettelse|ændring|endring|"
    r"korjaus|muutos|zmiana|poprawka|korekta|sprostowanie|oprava|změna|исправление|поправка|изменение|виправлення|зміна|"
    r"düzeltme|değişiklik|corectare|corecție|schimbare|javítás|módosítás|διόρθωση|αλλαγή|koreksi|perubahan|đính chính|"
    r"thay đổi|تصحيح|تعديل|תיקון|שינוי|更正|訂正|变更|変更|정정|변경"
)
_MOVED_ELSEWHERE = (
    r"\b(?:verlegt|verschoben|geändert|vorgezogen|umgezogen|report[ée]e?s?|repoussée?s?|avancée?s?|déplacée?s?|décalée?s?|"
    r"changée?s?|aplaz\w{1,6}|pospue\w{1,5}|trasladad[oa]s?|movid[oa]s?|cambi(?:ó|ad[oa]s?)|adelantad[oa]s?|spostat[oaie]|"
    r"rinviat[oaie]|anticipat[oaie]|cambiat[oaie]|adiad[oa]s?|mudad[oa]s?|mudou|transferid[oa]s?|antecipad[oa]s?|verzet|"
    r"verplaatst|uitgesteld|verschoven|flytt\w{1,4}|ändra\w{1,2}|endret|ændret|utsatt|udsat|siirty\w{1,6}|siirret\w{1,5}|"
    r"przesuni\w{2,6}|przeni\w{3,8}|przełoż\w{2,5}|zmieni\w{2,5}|přesu\w{2,7}|přesou\w{2,5}|posunu\w{1,5}|odlož\w{2,5}|"
    r"změn\w{2,4}|перен[её]с\w{0,6}|отлож\w{2,6}|сдвину\w{2,5}|измен\w{2,6}|переніс\w{0,4}|перенес\w{2,6}|змін\w{2,6}|"
    r"ertelen\w{2,5}|taşın\w{2,5}|alındı|değişti\w{0,4}|mutat\w{0,2}|amânat\w{0,2}|schimbat\w{0,2}|halaszt\w{2,6}|"
    r"elhalaszt\w{2,6}|áthelyez\w{2,6}|módosul\w{1,4}|μεταφέρ\w{2,7}|αναβλ\w{2,7}|άλλαξ\w{1,3}|dipindah\w{0,5}|"
    r"diundur\w{0,3}|diubah|تأجيل|تأجل\w{0,2}|تغيير|نقل\w{0,2}|נדח\w{1,3}|הועבר\w{0,2}|שונ\w{1,2})\b|改[到为成在期]|推迟|"
    r"延期|提前|变更|変更|延期|移動|변경|연기|옮[겨긴]|\b(?:dời|chuyển|hoãn|đổi) (?:sang|đến|lại)\b|เลื่อน|ย้าย"
)
# "No, it is 9443 now."
_OPENER = regex(
    # "No parking" and "wait ten minutes" correct nothing.
    r"^(?:(?:(?:update|edit(?:ed)?|correction|korrektur|nachtrag|corrección|correzione)"
    r"(?:\s(?:\d{1,2}[:.]\d\d|\d{4}-\d\d-\d\d)){1,2}(?=\s?[:,–-])|"
    rf"(?:{_CORRECTION_ELSEWHERE})(?=\s?[:：])|(?:{_NO})\b(?=\s?[,.:;!–-]|\s+(?:it|that|they|he|she|we|i|sorry|sono|è|es|"
    rf"son|c['’]est)\b|\s*$)|nope|correction|korrektur|"
    r"corrección|correzione|actually|scratch that|strike that|make that|change of plans?|i meant|ich meinte|je voulais dire|"
    rf"quise decir|not any ?more|nicht mehr|ya no|non più|niet meer|{_EXCUSE})\b(?:[,.:：;! –-]{{1,3}}(?:to say )?|$))+",
    re.IGNORECASE,
)
_DENIED = regex(rf"(?:{_NO})\b", re.IGNORECASE)
_NOW = (
    r"\b(?:now|instead|jetzt|inzwischen|nun|stattdessen|maintenant|désormais|ahora|adesso|ora|agora|teraz|теперь|сейчас|"
    r"artık|şimdi|acum|τώρα|الآن|nu)\b"
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
    rf"no longer)\b|{_MOVED_ELSEWHERE}",
    re.IGNORECASE,
)
# A sentence is about the words in front of it.
_VERB = regex(
    r"[:?!;]|\b(?:is|are|was|were|has|have|moved?|moves|changed?|switched|renamed|postponed|rescheduled|replaced|slip(?:s|"
    r"ped)|delayed|pushed|brought|now|instead|ist|sind|wurden?|wird|werden|est|sont|a été|sera|es|son|se|ha|fue|será|è|sono|"
    r"sarà|foi|é|fica|wordt|werd|blir|bliver|är|er|zosta\w{1,3}|jest|będzie|byl\w?|je|bude|oli|a fost|este|είναι)\b|"
    rf"{_MOVED_ELSEWHERE}",
    re.IGNORECASE,
)
_SENTENCE_END = regex(r"(?<=[.!?])\s+")
_SENTENCES_MAX = 4
# "We moved it, the database runs on db-9." Other words before a comma may say when or where.
_LEAD = regex(r"^(?:i|we|they|he|she|ich|wir|sie|je|nous|on)\b[^,.:;]{2,40}[,:;] (?=\w)", re.IGNORECASE)
# "Thu: 12-20" says nothing of Friday: who speaks says a few words.
_LABEL = regex(r"^[^\W\d_][\w .'’-]{0,40}: (?=[^\W\d_]\S*\s\S+\s)")
# A question and its answer are one fact.
_SAID_BEHIND = regex(r"^[^?\n]{1,300}\?\s+[^\W\d_][\w .'’-]{0,40}: ")
# "8 April: …" says when, and not of what.
_STAMP = regex(
    r"^\W{0,3}(?:[^\W\d_]{2,12}[.,]? ){0,2}\d{1,4}[^\s:]{0,12}(?: [^\W\d_]{3,12}\.?)?(?: \d{4})?,?(?: \d{1,2}[:.]\d\d)?\s?[:–-]\s"
)
_SUBJECT = regex(
    r"(?:the|our|de|het|der|die|das|la|le|les|el|los|las|il|lo|gli|os?|as?)\s(?P<noun>[^\W\d_]{3,40})\b", re.IGNORECASE
)
_FIGURE = regex(r"\d")
_VALUE = regex(r"\d|(?<=\w )[^\W\d_a-z]")
# Notes of this kind are about something further up, and name it.
_NOTED = regex(rf"(?:update|edit(?:ed)?|{_CORRECTION_ELSEWHERE})(?!\w)", re.IGNORECASE)
_POINTING = regex(r"\b(?:it|its|that|this|they|he|she|es|er|sie|das|il|elle|ce|lo|lui)\b", re.IGNORECASE)
# "Not quay 3 but quay 5"
_INSTEAD = regex(
    r"\b(?:not\s(?:(?:on|at|in|to|the)\s){0,2}(?P<en>[^,.;:!?]{2,40}?),?\sbut|nicht\s(?:(?:am|um|an|in|der|die|das)\s){0,2}"
    r"(?P<de>[^,.;:!?]{2,40}?),?\ssondern|no\s(?:(?:el|la|en|a)\s){0,2}(?P<es>[^,.;:!?]{2,40}?),?\ssino|"
    r"(?:pas|non)\s(?:(?:le|la|au|à|il)\s){0,2}(?P<fr>[^,.;:!?]{2,40}?),?\s(?:mais|ma))\s",
    re.IGNORECASE,
)
_TAKEN_OVER = regex(r"\b(?:takes?|took) over (?:as|from|for) (?P<role>[^,.;:!?]{2,60})", re.IGNORECASE)
_PLACED = regex(
    rf"(?P<thing>[^,.;:!?]{{2,60}}?)\s(?:is|are|stands?|lies?|hangs?|lives?|sits?|ist|liegt|steht|hängt|wohnt|est|"
    r"se trouve|está|è|si trova)"
    rf"(?:\s(?:{_NOW}|kept|stored))?\s(?:in|on|at|under|with|behind|by|near|above|below|inside|next\sto|im|am|auf|"
    rf"unter|bei|beim|hinter|"
    r"neben|dans|sur|sous|chez|en|con|bajo|sobre|sotto|nel|nella|sul|sulla|da)\s",
    re.IGNORECASE,
)
_KEYED = regex(r"(?P<key>[^\W\d_][^:\n]{2,40}):\s\S")
_IS = regex(r"\s?(?::|=|\s(?:is|are|ist|sind|est|sont|es|son|è|sono)\b)", re.IGNORECASE)
_AMOUNT = regex(r"(?P<figure>\d{1,9}(?:[.,]\d{1,9}){0,3})\s?(?P<unit>[^\W\d_]{1,12}|[%€$£])(?![\w-])")
# One day or hour may be put in the place of another.
_MONTH = "(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])"
_WHEN = regex(
    r"\b(?:(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|\d{1,2}:\d\d|"
    r"\d{1,2}\s?[ap]\.?m|\d{1,2}(?:[.:]\d\d)?\sUhr)\b|"
    rf"{_MONTH}[a-z]{{0,6}}\.? \d{{1,4}}\b|\d{{1,2}}(?:\.|st|nd|rd|th)? (?:of )?{_MONTH})",
    re.IGNORECASE,
)
# Of days the beginning, which stays where their ending does not.
_WHEN_ELSEWHERE = regex(
    rf"\b(?:\d{{1,2}}\.? (?:d[ei] )?(?:{DAYS_ELSEWHERE})|{DAYS_ELSEWHERE}|(?:mån|tis|ons|tors|fre|lör|sön|man|tirs|"
    rf"lør|søn|maan|dins|"
    r"woens|donder|vrij|zater|zon)dag|(?:maanan|tiis|tors|perjan|lauan|sunnun)tai|(?:ال)?(?:اثنين|ثلاثاء|أربعاء|خميس|جمعة|"
    r"سبت|أحد)|[בל]?יום (?:ראשון|שני|שלישי|רביעי|חמישי|שישי)|thứ (?:hai|ba|tư|năm|sáu|bảy)|chủ nhật)|"
    r"[一二三四五六七八九十两\d]{1,3} ?[点點时時]|[月火水木金土日]曜|(?:周|星期|礼拜)[一二三四五六日天]|"
    r"[월화수목금토일]요일|วัน(?:จันทร์|อังคาร|พุธ|พฤหัส|ศุกร์|เสาร์|อาทิตย์)",
    re.IGNORECASE,
)
_TELLING_LETTERS_MIN = 4
_UNSPACED, _VERB_FIRST = regex(f"[{UNSPACED}]"), regex("[\u0590-\u06ff]")
_PAST = regex(r"\b(?:was|were|had|did|went|got|made|took|gave|came|saw|said|met|[a-z]{2,30}ed)\b", re.IGNORECASE)
_DAY_CHARACTERS = len("2026-05-04")


class _Words:
    """A fact without its speaker, as words that may correct others or be corrected."""

    def __init__(self, fact: Fact) -> None:
        message = fact.content.removeprefix(f"{fact.speaker}: ")
        # "Correction: …" is no label.
        self.said = message if _OPENER.match(message) else _LABEL.sub("", message, count=1)
        self.key = match["key"] if (match := _KEYED.match(message)) else ""

    @cached_property
    def terms(self) -> frozenset[str]:
        return terms_in(self.told)

    @cached_property
    def told(self) -> str:
        """Without what says that it corrects. The time behind "Update", or in front of an entry, is when that is said."""
        return _STAMP.sub("", _OPENER.sub("", self.said), count=1)

    @cached_property
    def puts_right(self) -> bool:
        """Whether it says that it corrects; to change may also be what happened."""
        return _OPENER.match(self.said) is not None or _NOW_SAID.search(self.said) is not None

    @cached_property
    def changes(self) -> bool:
        return self.puts_right or _CHANGED.search(self.said) is not None

    @cached_property
    def subject(self) -> list[str]:
        """The terms in front of its verb that tell what it is about; in Arabic and Hebrew they may stand behind it."""
        ahead, *behind = _VERB.split(self.told, maxsplit=1)
        return self._telling(ahead) or [term for term in self._telling(*behind) if _VERB_FIRST.match(term)]

    def _telling(self, text: str = "") -> list[str]:
        text = self.timeless(text)
        return [term for term in terms_in(text) - bent_terms(text) if len(term) >= _TELLING_LETTERS_MIN or _UNSPACED.match(term)]

    def is_about(self, subject: Iterable[str]) -> bool:
        """Whether it has all of these terms, in whatever form; some of the pairs of characters that stand in for words."""
        is_met = {term: term in self.terms or likeness(term, self.terms) > 0 for term in subject}
        pairs = [term for term in is_met if _UNSPACED.match(term)]
        return all(is_met[term] for term in is_met if term not in pairs) and (not pairs or any(map(is_met.get, pairs)))

    @cached_property
    def place_of(self) -> frozenset[str]:
        """The terms of what it says where it is."""
        return terms_in(match["thing"]) if (match := _PLACED.match(self.told)) else frozenset()

    @cached_property
    def amounts(self) -> dict[str, str]:
        """The figure of each unit."""
        return {match["unit"].casefold(): match["figure"] for match in _AMOUNT.finditer(self.told)}

    @cached_property
    def times(self) -> set[str]:
        """Days and hours."""
        return {time.casefold() for when in self._whens for time in when.findall(self.told)}

    def timeless(self, text: str) -> str:
        """A part of it without days and hours."""
        for when in self._whens:
            text = when.sub("", text)
        return text

    @cached_property
    def _whens(self) -> list[re.Pattern[str]]:
        """Words of English begin as days elsewhere do."""
        return [_WHEN] if leaning(self.told) > 0 else [_WHEN, _WHEN_ELSEWHERE]


def _in_its_stead(later: _Words, earlier: _Words) -> bool:
    """ "Not quay 3 but quay 5"."""
    values = [next(filter(None, match.groups())) for match in _INSTEAD.finditer(later.said)]
    is_opened = _OPENER.match(later.said) is not None
    return any((is_opened or _FIGURE.search(value)) and terms_in(value) <= terms_in(earlier.said) for value in values)


def _takes_over(later: _Words, earlier: _Words) -> bool:
    """ "Ana takes over as the keeper of the key"."""
    match = _TAKEN_OVER.search(later.said)
    return match is not None and terms_in(match["role"]) <= terms_in(earlier.said)


def _fills_field(later: _Words, earlier: _Words) -> bool:
    """ "Night shift is Ewa and Pavel", where "Night shift" is a field."""
    place = later.told.casefold().find(earlier.key.casefold()) if earlier.key and later.changes else -1
    return place >= 0 and _IS.match(later.told, place + len(earlier.key)) is not None


def _lays_elsewhere(later: _Words, earlier: _Words) -> bool:
    """ "The key is now under the mat"."""
    return later.puts_right and bool(later.place_of) and later.place_of == earlier.place_of


def _measures_anew(later: _Words, earlier: _Words) -> bool:
    """ "Update: the fee of the fair is 5 euros"."""
    is_same = later.puts_right and bool(later.subject) and earlier.is_about(later.subject)
    return is_same and any(earlier.amounts.get(unit, figure) != figure for unit, figure in later.amounts.items())


def _times_anew(later: _Words, earlier: _Words) -> bool:
    """ "The crane moved: 11:15"."""
    if not (later.changes and earlier.times and later.times - earlier.times and earlier.is_about(later.subject)):
        return False
    return bool(later.subject) or (later.puts_right and bool(later.times & earlier.times))


_PUT_ANEW: Sequence[Callable[[_Words, _Words], bool]] = (
    _in_its_stead,
    _takes_over,
    _fills_field,
    _lays_elsewhere,
    _measures_anew,
    _times_anew,
)


@ornament(lambda hits: list(hits))
def later_first(hits: Sequence[Hit]) -> list[Hit]:
    """Where a conversation, a thread or minutes say something anew, the later statement stands ahead of the one it replaces."""
    placed: list[Hit] = []
    for hit in hits:
        place = next((number for number, earlier in enumerate(placed) if replaces(hit.fact, earlier.fact)), len(placed))
        placed.insert(place, hit)
    return placed


def corrections_of(hits: Sequence[Hit], candidates: Iterable[Hit], asked_about: frozenset[str] = frozenset()) -> list[Hit]:
    """The candidates that correct one of the hits in words that say nothing without it: "No, on Monday now.".

    One that names what it is about is left out where other terms are `asked_about`: the hit may say more than it corrects.
    """
    ids = {hit.fact.id for hit in hits}
    left = (hit for hit in candidates if hit.fact.id not in ids and hit.fact.before)
    return [hit for hit in left if any(_belongs_to(hit.fact, told.fact, asked_about) for told in hits)]


def _belongs_to(correction: Fact, fact: Fact, asked_about: frozenset[str]) -> bool:
    if _corrects_last(correction, fact):
        return True
    if not _puts_anew(correction, fact):
        return False
    terms = _Words(correction).terms
    return not asked_about or any(term in terms or likeness(term, terms) > 0 for term in asked_about)


def replaces(later: Fact, earlier: Fact) -> bool:
    """Whether a fact says anew what one of the same source said before, or what it answers."""
    if _corrects_last(later, earlier) or _puts_anew(later, earlier):
        return True
    if not _is_behind(later, earlier):
        return False
    is_newer = _is_of_later_day(later, earlier)
    return corrects(Statement(**said_of(later)), Statement(**said_of(earlier)), is_marked=is_newer) or any(
        corrects(clause, former, is_marked=is_marked)
        for (clause, is_marked), (former, _) in product(_clauses(later), list(_clauses(earlier)))
    )


def _is_behind(later: Fact, earlier: Fact) -> bool:
    return not set(later.sources).isdisjoint(earlier.sources) and order_said(later, earlier) > 0


def _puts_anew(later: Fact, earlier: Fact) -> bool:
    if not _is_behind(later, earlier):
        return False
    words, former = _Words(later), _Words(earlier)
    return any(puts_anew(words, former) for puts_anew in _PUT_ANEW)


def _corrects_last(later: Fact, earlier: Fact) -> bool:
    """Whether a fact follows another, or answers it, and gives another value in its place."""
    words, former = _Words(later), _Words(earlier)
    message = _SAID_BEHIND.sub("", words.said, count=1)
    # "No" answers the question that it stands behind.
    is_opened = _OPENER.match(message) is not None and not (message != words.said and _DENIED.match(message))
    if former.said not in later.before or _INSTEAD.search(message):
        return False
    if not (is_opened or _CORRECTING.search(_LEAD.sub("", message, count=1))):
        return False
    # "No, the move is on Friday" behind a word about keys corrects an earlier one.
    subject = _SUBJECT.match(_OPENER.sub("", message))
    if subject and subject["noun"].casefold() not in former.said.casefold() and not _CORRECTING.match(message):
        return False
    if words.times and not former.times and not _VALUE.search(words.timeless(message)):
        # Another day is none in the place of wine.
        return False
    if _NOTED.match(message) and not _POINTING.search(message):
        # All that it is about, or any of it where it has no verb.
        is_about = former.is_about(words.subject) if _VERB.search(words.told) else not words.terms.isdisjoint(former.terms)
        if not is_about:
            return False
    return bool((_VALUE if is_opened or not _FIGURE.search(former.said) else _FIGURE).search(message))


def _clauses(fact: Fact) -> Iterator[tuple[Statement, bool]]:
    """The sentences of a fact as statements of their own, without words that say only that they correct; and whether they do."""
    said = said_of(fact)
    for sentence in _SENTENCE_END.split(_Words(fact).said)[:_SENTENCES_MAX]:
        clause = _NOW_SAID.sub("", _OPENER.sub("", sentence))
        is_marked = clause != sentence or _CHANGED.search(sentence) is not None
        for text in {clause, _LEAD.sub("", clause, count=1)}:
            yield Statement(**{**said, "content": text}), is_marked


def _is_of_later_day(later: Fact, earlier: Fact) -> bool:
    """Whether minutes of a later day say what holds. What happened did so on each of the days."""
    if later.speaker or earlier.speaker or min(len(later.said_at), len(earlier.said_at)) < _DAY_CHARACTERS:
        return False
    is_later = later.said_at[:_DAY_CHARACTERS] > earlier.said_at[:_DAY_CHARACTERS]
    return is_later and not any(_PAST.search(fact.content) for fact in (later, earlier))
