"""Messages as other programs lay them out, made lines of a conversation: "[when] who: what", under their subject.

Mail with its heads in the text, as answers and forwarded mail have it; transcripts and copies of chats and issues, where a line
says who speaks and when. Newest first becomes oldest first, so that an answer stands behind what it answers.

Dialogue: which lines of a text are somebody speaking, the speaker, and the time written in front.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from hive_mind.cognition.extraction.separated import log_line_of
from hive_mind.cognition.extraction.statements import SENTENCE_STOPS, is_question
from hive_mind.cognition.temporal import normalised
from hive_mind.regex import regex


@dataclass(frozen=True, slots=True)
class DialogueLine:
    """One line of a conversation. `stamp` is the time in front of it as it was written, or ""."""

    speaker: str
    text: str
    stamp: str = ""


_LINE_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:\s?[apAP]\.?[mM]\.?)?"
_LINE_DAY = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
_STAMP = rf"(?:{_LINE_DAY}(?:,?[ T]\s?{_LINE_CLOCK})?|{_LINE_CLOCK})(?:Z|[+-]\d{{2}}:?\d{{2}})?"
_WORD = r"[^\W_][\w'’.&-]{0,40}"
# Of no language, as names in chats are followed by.
_SIGN = "[\u200d\u2600-\u27bf\ufe0f\U0001f000-\U0001faff]"
_LINE = regex(
    rf"(?:(?P<open>[\[(])(?P<boxed>[^\])]{{4,40}})[\])]\s*+(?:[-–]\s*+)?|(?P<bare>{_STAMP})\s++(?:-\s++)?)?"
    rf"(?P<bold>\*\*)?(?P<speaker>{_WORD}(?:\s{_WORD}){{0,3}})(?P<after>\s?\([^)]{{1,30}}\)|,\s{_LINE_DAY}(?:\s{_LINE_CLOCK})?)?(?:\s?{_SIGN}{{1,4}})?(?::(?(bold)\*\*)\s+|：(?(bold)\*\*)\s*+)(?P<text>\S.*)"
)
_HAS_TIME = regex(rf"{_LINE_CLOCK}|{_LINE_DAY}")
_SENTENCE_SPACES_MIN = 3
_SPEECH = regex(r"\b(?:i|i['’](?:m|ve|ll|d)|you|your|we|we're|our|my|me|us)\b", re.IGNORECASE)

# How chat programs and language model logs name the two sides; written in lower case more often than not.
_ROLES = frozenset({"user", "assistant", "system", "human", "ai", "agent", "bot", "customer", "support"})

# Labels of notes and of key–value lines. They never speak, not even in "Note: you must restart".
_LABELS = frozenset(
    "note notes warning caution tip hint important info error todo fixme example answer question q a summary status update "
    "date time subject from to cc re title author owner name address email phone url source result results reason cause impact "
    "action actions goal goals step decision deadline budget location version priority severity description default "
    "usage input output ps nb http https edit edited correction corrected addendum erratum korrektur nachtrag ergänzung "
    "rectificatif corrección correzione correção".split()
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
    labelled = Counter[str]()
    is_stamped = False
    stating: Counter[str] = Counter()
    roles = 0
    turns = total = 0
    first_said, paragraph = dict[str, int](), 0
    for line in map(str.strip, lines):
        total += bool(line)
        paragraph += not line
        turn = _labelled(line) if ":" in line or "：" in line else None
        if turn is None:
            continue
        turns += 1
        label = _called(turn.speaker)
        labelled[label] += 1
        first_said.setdefault(label, paragraph)
        is_stamped = is_stamped or turn.stamp != ""
        roles += label in _ROLES
        stating[label] += turn.text.endswith(SENTENCE_STOPS) and turn.text.count(" ") >= _SENTENCE_SPACES_MIN
        if turn.stamp or _SPEECH.search(turn.text) or is_question(turn.text):
            speaking.add(label)
    # "Customer: Alpine Railways" and "System: Debian 12" are lines of a form.
    speaking |= labelled.keys() & _ROLES if roles > 1 else set()
    # Keys come once; somebody who says whole sentences beside another comes again.
    if len(labelled) > 1 and turns == total:
        speaking |= {label for label, times in stating.items() if times > 1}
    # Where half of the lines are labelled and somebody speaks, the others who are named speak as well; where others do so at a
    # time, only with a sentence or more than once: "Reporter: Nadia Bello" above dated comments is a field.
    others = {label for label, times in labelled.items() if times > 1 or stating[label] or not is_stamped}
    # Fields stand above all that is said: "Status: open".
    begun = min((first_said[label] for label in speaking), default=0)
    others -= {label for label, times in labelled.items() if times == 1 and first_said[label] < begun}
    return frozenset(speaking | others if speaking and turns * 2 >= total else speaking)


def turn_of(line: str, speakers: frozenset[str]) -> DialogueLine | None:
    """The utterance in a line, if it begins with one of these speakers."""
    if not speakers:
        return None
    turn = _labelled(line)
    return turn if turn is not None and _called(turn.speaker) in speakers else None


def _called(speaker: str) -> str:
    """A speaker's label without what is said of them in brackets, case-folded."""
    return speaker.partition("(")[0].strip().casefold()


def _labelled(line: str) -> DialogueLine | None:
    match = _LINE.match(line)
    if match is None:
        return None
    log = log_line_of(line)
    if log is not None and log.is_marked:
        return None
    stamp = match["boxed"] or match["bare"] or (match["after"] or "").strip(" (),")
    stamp = stamp if _HAS_TIME.search(stamp) else ""
    label = match["speaker"]
    name = label.rstrip("0123456789 ").casefold()
    if name in _LABELS or name in _WORDS_OF_LISTS or not _may_be_name(label, stamped=bool(stamp)):
        return None
    # "Born in Porto, 2026-03-04: …" is no name.
    if (match["after"] or "").startswith(",") and any(word[0].islower() for word in label.split()):
        return None
    # "Agent (Lucia): …": what says more of who speaks, and no time, is part of the name.
    remark = match["after"] if match["after"] and not stamp and match["after"].strip().startswith("(") else ""
    return DialogueLine(f"{label}{remark}", match["text"], stamp)


def _may_be_name(label: str, *, stamped: bool) -> bool:
    if label.casefold() in _ROLES:
        return True
    first = label[0]
    # Names in scripts without capitals are neither upper nor lower case.
    return stamped or not (first.islower() or first.isdigit())


_FIELDS = {
    "who": "from von de da van från fra od от 发件人 寄件者 差出人",
    "when": "sent date gesendet datum envoyé enviado fecha data inviato verzonden skickat sendt дата отправлено 发送时间 日期",
    "to": "to cc an kopie à para a aan till til кому копия 收件人 宛先",
    "what": "subject betreff objet asunto oggetto assunto onderwerp ämne emne тема 主题 主旨 件名",
}
_KINDS = {name: kind for kind, names in _FIELDS.items() for name in names.split()}
# "> On Mon, 4 May 2026 at 11:02, Sam Khoury wrote:", above what is answered.
_WROTE = regex(
    r"(?:>\s?){0,8}(?:On|Am|Le|El|Il|Op|Em|Den|W dniu)\s(?:[^\W\d_]{2,12}[.,]{1,2}\s)?(?P<when>.{6,60}?),?\s"
    r"(?:(?P<who>[^\W\d_][^\d:]{1,80}?),?\s(?:wrote|a écrit|escribió|escreveu|ha scritto|schreef|skrev|napisał\(?a?\)?)"
    r"|schrieb\s(?P<name>[^\W\d_].{1,80}?))\s?:"
)
_QUOTED = regex(r"(?:>\s?){1,8}")
_HEAD_LINES_MAX = 12
# Twelve letters are the longest name of a field.
_FIELD_CHARS_MAX, _LABEL_CHARS_MAX = 20, 90
_REPLY_MARK = regex(r"(?:(?:re|aw|wg|fwd?|tr|rv|res|enc|sv|vs|antw|odp|回复|答复)\s?[:：]\s{0,3}){1,8}", re.IGNORECASE)
_DIVIDER = regex(r"[-_=*]{3,60}(?:\s?[^\W_][^-_\n]{1,60}[-_=]{3,60})?|Begin forwarded message:")
_ADDRESS = regex(r"[<\[(][^<>\[\]()]{0,200}[>\])]")
_NOT_NAME = regex(r"[^\w\s'’.&-]+")
_NAME_WORDS_MAX = 4
# Each sentence of what is written says one thing; a shorter word before the stop may be an abbreviation.
_SENTENCE_END = regex(r"(?<=[^\W\d_]{4}[.!])\s+(?=[^\W\d_a-z])")
_LAID_OUT = regex(r"\s|[-*+•|#>`~]\s?|\d{1,3}[.)]\s")

_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,3})?)?(?:\s?[apAP]\.?[mM]\.?)?"
_DAY = (
    r"[^\W\d_]{3,9}\.?\s\d{1,2},?\s\d{4}|\d{1,2}\.?\s[^\W\d_]{3,9}\.?\s\d{4}|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|(?i:today|yesterday)"
)
_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},?"
_LABEL = regex(
    r"(?:by\s)?(?P<who>[^\W\d_](?:[\w .'’-]{0,60}[\w.])??)[*_]{0,3}"
    r"(?P<verb>\s(?:commented|wrote|replied|said|opened this \w{1,10}))?(?:\son)?"
    rf"\s{{0,4}}[-–—|,·»]?\s{{0,4}}[(\[]?\s?(?<=[\s(\[])(?:{_WEEKDAY}\s)?(?P<when>(?:{_DAY})(?:(?:,|\sat)?\s?{_CLOCK})?|{_CLOCK})[)\]]?"
)
# In copies of some chats the time stands below the name.
_TIME_ALONE = regex(rf"[\[(]?(?:(?:{_DAY})(?:,|\sat)?\s?)?{_CLOCK}[)\]]?")
_COPIED = regex(r"\S\s{2}\d{1,2}:\d{2}(?:\s?[AP]M)?\s*$")
_LABELS_MIN = 3


@dataclass(frozen=True, slots=True)
class _Head:
    """The lines in front of a message, from `start` to `end`."""

    start: int
    end: int
    who: str
    when: str
    subject: str = ""
    to: str = ""
    is_reply: bool = False


@dataclass(frozen=True, slots=True)
class _Message:
    head: _Head
    lines: Sequence[str]


_IN_BRACKETS = regex(rf"(?P<when>\[?{_STAMP}\]?\s{{1,4}})?<[@+%~& ]?(?P<who>[^\s<>/@:]{{1,40}})>\s+(?P<said>\S.*)")
_TALKING_MIN = 2
_COMMIT = regex(r"commit (?P<id>[0-9a-f]{7,40})\b.*")
_COMMIT_FIELD = regex(r"(?P<key>Author|Date|AuthorDate|Merge|Commit|CommitDate):\s+(?P<value>\S.*)")


def as_conversation(lines: Sequence[str]) -> Sequence[str]:
    """The lines with each message as turns of a conversation; as they are where no message is among them."""
    if any(map(_COMMIT.fullmatch, lines)):
        return list(_commits(lines))
    bracketed = [_IN_BRACKETS.fullmatch(line.strip()) for line in lines]
    if sum(map(bool, bracketed)) >= _TALKING_MIN:
        # Other lines, such as "* ana waves", go on in no message.
        pairs = zip(lines, bracketed, strict=True)
        return [
            part
            for line, match in pairs
            for part in ([f"{match['when'] or ''}{match['who']}: {match['said']}"] if match else ["", line])
        ]
    heads = sorted([*_mail_heads(lines), *_quoting_heads(lines)], key=lambda head: head.start) or _labels(lines)
    if not heads:
        return lines
    before = list(lines[: heads[0].start])
    messages = [
        _Message(head, lines[head.end : end])
        for head, end in zip(heads, [*(h.start for h in heads[1:]), len(lines)], strict=True)
    ]
    above = next((line.strip() for line in reversed(before) if line.strip()), "")
    if heads[0].to and _DIVIDER.fullmatch(above):
        # Its writer is who got the first message below it.
        answer = _Message(replace(heads[0], who=heads[0].to, when=""), before)
        return list(_written([*reversed(messages), answer]))
    return [*before, "", *_written(reversed(messages) if _is_newest_first(heads) else messages)]


def _commits(lines: Sequence[str]) -> Iterator[str]:
    """Each commit of a log as an item, with its author, time and id; the rest of its message stands below that."""
    commit, fields, is_begun = "", dict[str, str](), False
    for line in lines:
        if match := _COMMIT.fullmatch(line):
            commit, fields, is_begun = match["id"], {}, False
        elif commit and not is_begun and (field := _COMMIT_FIELD.fullmatch(line)):
            fields[field["key"]] = field["value"]
        elif commit and line.strip() and not is_begun:
            who, when = name_of(fields.get("Author", "")), fields.get("AuthorDate", fields.get("Date", ""))
            yield f"- {line.strip()} ({', '.join(filter(None, (who, when, f'commit {commit}')))})"
            is_begun = True
        else:
            yield f"  - {line.strip()}" if commit and line.strip() else line


def holds_mail(lines: Sequence[str]) -> bool:
    """Whether the head of a message stands among these lines."""
    return next(_mail_heads(lines), None) is not None


def subject_of(text: str) -> str:
    """A subject in one line, without the marks of answers: a thread has one."""
    return _REPLY_MARK.sub("", " ".join(text.split()), count=1)


def name_of(text: str) -> str:
    """A sender's name as one who speaks: "Ana Lopes" for '"Ana Lopes" <ana@example.org>'."""
    name = _NOT_NAME.sub(" ", _ADDRESS.sub(" ", text)) if not text.startswith("<") else text.strip("<>").partition("@")[0]
    return " ".join(name.split()[:_NAME_WORDS_MAX])


def turns(who: str, when: str, lines: Sequence[str]) -> Iterator[str]:
    """The words of one message as turns of a conversation, a paragraph each; lists and code stand for themselves."""
    label = f"[{when}] {who}: " if when else f"{who}: " if who else ""
    if all(_QUOTED.match(line) for line in lines if line.strip()):
        lines = [_QUOTED.sub("", line, count=1) for line in lines]
    for has_words, run in groupby(lines, key=lambda line: bool(line.strip())):
        paragraph = [line.rstrip() for line in run if not _DIVIDER.fullmatch(line.strip())]
        if not has_words or not paragraph:
            continue
        yield from (
            paragraph
            if any(map(_LAID_OUT.match, paragraph))
            else [f"{label}{said}" for said in _SENTENCE_END.split(" ".join(paragraph))]
        )
        yield ""


def _written(messages: Iterator[_Message] | Sequence[_Message]) -> Iterator[str]:
    subject = ""
    for message in messages:
        if message.head.subject not in ("", subject):
            subject = message.head.subject
            yield from (f"# {subject}", "")
        yield from turns(message.head.who, message.head.when, message.lines)


def _is_newest_first(heads: Sequence[_Head]) -> bool:
    if all(head.when for head in heads):
        return all(later.when > earlier.when for later, earlier in pairwise(heads))
    return heads[0].is_reply and not heads[-1].is_reply


def _mail_heads(lines: Sequence[str]) -> Iterator[_Head]:
    end = 0
    for place, line in enumerate(lines):
        if place >= end and _kind_of(line) and (head := _mail_head(lines, place)):
            yield head
            end = head.end


def _quoting_heads(lines: Sequence[str]) -> Iterator[_Head]:
    for place, line in enumerate(lines):
        if (wrote := _WROTE.fullmatch(line.strip())) and any(line.startswith(">") for line in lines[place : place + 3]):
            yield _Head(place, place + 1, name_of(wrote["who"] or wrote["name"]), _stamp(wrote["when"]))


def _kind_of(line: str) -> str:
    """The kind of field in a line of a mail's head; "" for any other line."""
    name, colon, _ = line[:_FIELD_CHARS_MAX].replace("：", ":").partition(":")
    return _KINDS.get(name.strip("* \t").casefold(), "") if colon else ""


def _mail_head(lines: Sequence[str], start: int) -> _Head | None:
    """The head that begins here. A list of places "From: …, To: …" has no subject."""
    values: dict[str, str] = {}
    end = start
    for line in lines[start : start + _HEAD_LINES_MAX]:
        if kind := _kind_of(line):
            values.setdefault(kind, line.replace("：", ":").partition(":")[2].strip("* \t"))
        elif not (line[:1].isspace() and line.strip()):
            break
        end += 1
    if not {"who", "what"} <= values.keys() or not {"when", "to"} & values.keys():
        return None
    return _Head(
        start,
        end,
        name_of(values["who"]),
        _stamp(values.get("when", "")),
        subject_of(values["what"]),
        name_of(values.get("to", "")),
        _REPLY_MARK.match(values["what"]) is not None,
    )


def _labels(lines: Sequence[str]) -> list[_Head]:
    """The lines that only say who speaks, and when; none where they may be something else, such as an agenda."""
    labels: list[_Head] = []
    is_marked = False
    for place, line in enumerate(lines):
        # Copies of chats leave out the empty line: "ana  10:14 AM".
        following = "".join(lines[place + 1 : place + 2]).strip()
        is_timed_below = bool(line.strip()) and _TIME_ALONE.fullmatch(following) is not None
        begins = is_timed_below or not (place and lines[place - 1].strip()) or _COPIED.search(line) is not None
        begins = begins or (following != "" and not _LABEL.fullmatch(following))
        line = f"{line} {following}" if is_timed_below else line
        text = line.strip(" \t#*_>@:") if len(line) <= _LABEL_CHARS_MAX and begins else ""
        match = _LABEL.fullmatch(text) if text[-1:].isalnum() or text[-1:] in ("]", ")", ".") else None
        if match is None or len(match["who"].split()) > _NAME_WORDS_MAX:
            continue
        says_so = match["verb"] is not None or "@" in line[: line.find(match["who"])]
        if says_so or (":" in match["when"] and line.removeprefix("by ").startswith(match["who"])):
            is_marked = is_marked or says_so
            # In forums the subject stands above each.
            subject = subject_of(lines[place - 1]) if place and _REPLY_MARK.match(lines[place - 1]) else ""
            end = place + 1 + is_timed_below
            labels.append(_Head(place - bool(subject), end, match["who"], _stamp(match["when"]), subject))
    often = Counter(head.who for head in labels)
    # Stops of a timetable say nothing between their times.
    starts = [head.start for head in labels[1:]] + [len(lines)] * bool(labels)
    silent = sum(not any(map(str.strip, lines[head.end : start])) for head, start in zip(labels, starts, strict=True))
    is_talk = is_marked or (len(labels) >= _LABELS_MIN and max(often.values(), default=0) > 1 and silent * 2 < len(labels))
    return labels if is_talk else []


def _stamp(when: str) -> str:
    """A time as a conversation has it in front of a turn."""
    return normalised(when).replace("T", " ") or (when if ":" in when and len(when) <= 40 else "")
