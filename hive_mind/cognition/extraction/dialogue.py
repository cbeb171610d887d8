"""Dialogue: which lines of a text are somebody speaking, the speaker, and the time written in front."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from hive_mind.cognition.extraction.logs import log_line_of
from hive_mind.cognition.extraction.statements import SENTENCE_STOPS
from hive_mind.regex import regex


@dataclass(frozen=True, slots=True)
class DialogueLine:
    """One line of a conversation. `stamp` is the time in front of it as it was written, or ""."""

    speaker: str
    text: str
    stamp: str = ""


_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:\s?[apAP]\.?[mM]\.?)?"
_DAY = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
_STAMP = rf"(?:{_DAY}(?:,?[ T]\s?{_CLOCK})?|{_CLOCK})(?:Z|[+-]\d{{2}}:?\d{{2}})?"
_WORD = r"[^\W_][\w'’.&-]{0,40}"
_LINE = regex(
    rf"(?:(?P<open>[\[(])(?P<boxed>[^\])]{{4,40}})[\])]\s*+(?:[-–]\s*+)?|(?P<bare>{_STAMP})\s++(?:-\s++)?)?"
    rf"(?P<bold>\*\*)?(?P<speaker>{_WORD}(?:\s{_WORD}){{0,3}})(?P<after>\s?\([^)]{{1,30}}\))?:(?(bold)\*\*)\s+(?P<text>\S.*)"
)
_HAS_TIME = regex(rf"{_CLOCK}|{_DAY}")
_SENTENCE_SPACES_MIN = 3
_SPEECH = regex(r"\b(?:i|i['’](?:m|ve|ll|d)|you|your|we|we're|our|my|me|us)\b", re.IGNORECASE)

# How chat programs and language model logs name the two sides; written in lower case more often than not.
_ROLES = frozenset({"user", "assistant", "system", "human", "ai", "agent", "bot", "customer", "support"})

# Labels of notes and of key–value lines. They never speak, not even in "Note: you must restart".
_FIELDS = frozenset(
    "note notes warning caution tip hint important info error todo fixme example answer question q a summary status update "
    "date time subject from to cc re title author owner name address email phone url source result results reason cause impact "
    "action actions goal goals step decision deadline budget location version priority severity description default "
    "usage input output ps nb http https".split()
)

# Letters and words in front of the questions of a list, and those in front of their answers.
ANSWER_LABELS = {
    "q": "a r",
    "question": "answer réponse",
    "f": "a",
    "frage": "antwort",
    "p": "r",
    "pregunta": "respuesta",
    "pergunta": "resposta",
    "d": "r",
    "domanda": "risposta",
    "v": "a",
    "vraag": "antwoord",
    "в": "о",
    "вопрос": "ответ",
    "س": "ج",
    "سؤال": "جواب",
    "질문": "답변",
}
_WORDS_OF_LISTS = frozenset(
    word for question, answers in ANSWER_LABELS.items() for word in (question, *answers.split()) if len(word) > 1
)


def speakers_of(lines: Iterable[str]) -> frozenset[str]:
    """The labels that speak somewhere in these lines, case-folded. Empty for a text that is no conversation."""
    speaking: set[str] = set()
    labelled: set[str] = set()
    stating: Counter[str] = Counter()
    turns = total = 0
    for line in map(str.strip, lines):
        total += bool(line)
        turn = _labelled(line)
        if turn is None:
            continue
        turns += 1
        label = turn.speaker.casefold()
        labelled.add(label)
        stating[label] += turn.text.endswith(SENTENCE_STOPS) and turn.text.count(" ") >= _SENTENCE_SPACES_MIN
        if turn.stamp or _SPEECH.search(turn.text) or turn.text.endswith("?"):
            speaking.add(label)
    # "Customer: Alpine Railways" alone is a line of a form.
    speaking |= labelled & _ROLES if turns > 1 else set()
    # Keys come once; somebody who says whole sentences beside another comes again.
    if len(labelled) > 1 and turns == total:
        speaking |= {label for label, times in stating.items() if times > 1}
    # Where half of the lines are labelled and somebody speaks, the others who are named speak as well.
    return frozenset(labelled if speaking and turns * 2 >= total else speaking)


def turn_of(line: str, speakers: frozenset[str]) -> DialogueLine | None:
    """The utterance in a line, if it begins with one of these speakers."""
    if not speakers:
        return None
    turn = _labelled(line)
    return turn if turn is not None and turn.speaker.casefold() in speakers else None


def _labelled(line: str) -> DialogueLine | None:
    match = _LINE.match(line)
    if match is None:
        return None
    log = log_line_of(line)
    if log is not None and log.is_marked:
        return None
    stamp = match["boxed"] or match["bare"] or (match["after"] or "").strip(" ()")
    stamp = stamp if _HAS_TIME.search(stamp) else ""
    label = match["speaker"]
    name = label.rstrip("0123456789 ").casefold()
    if name in _FIELDS or name in _WORDS_OF_LISTS or not _may_be_name(label, stamped=bool(stamp)):
        return None
    return DialogueLine(label, match["text"], stamp)


def _may_be_name(label: str, *, stamped: bool) -> bool:
    if label.casefold() in _ROLES:
        return True
    first = label[0]
    # Names in scripts without capitals are neither upper nor lower case.
    return stamped or not (first.islower() or first.isdigit())
