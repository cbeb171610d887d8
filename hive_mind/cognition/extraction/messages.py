"""Messages as other programs lay them out, made lines of a conversation: "[when] who: what", under their subject.

Mail with its heads in the text, as answers and forwarded mail have it; transcripts and copies of chats and issues, where a line
says who speaks and when. Newest first becomes oldest first, so that an answer stands behind what it answers.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from hive_mind.cognition.dates.temporal import normalised
from hive_mind.regex import regex

_FIELDS = {
    "who": "from von de da van från fra od от 发件人 寄件者 差出人",
    "when": "sent date gesendet datum envoyé enviado fecha data inviato verzonden skickat sendt дата отправлено 发送时间 日期",
    "to": "to cc an kopie à para a aan till til кому копия 收件人 宛先",
    "what": "subject betreff objet asunto oggetto assunto onderwerp ämne emne тема 主题 主旨 件名",
}
_KINDS = {name: kind for kind, names in _FIELDS.items() for name in names.split()}
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
_LABEL = regex(
    r"(?P<who>[^\W\d_](?:[\w .'’-]{0,60}[\w.])??)[*_]{0,3}(?P<verb>\s(?:commented|wrote|replied|said|opened this \w{1,10}))?"
    rf"(?:\son)?\s{{0,4}}[-–—|,·(\[]?\s{{0,4}}(?<=[\s(\[])(?P<when>(?:{_DAY})(?:(?:,|\sat)?\s?{_CLOCK})?|{_CLOCK})[)\]]?"
)
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


def as_conversation(lines: Sequence[str]) -> Sequence[str]:
    """The lines with each message as turns of a conversation; as they are where no message is among them."""
    heads = list(_mail_heads(lines)) or _labels(lines)
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
        text = line.strip(" \t#*_>@:") if len(line) <= _LABEL_CHARS_MAX and not (place and lines[place - 1].strip()) else ""
        match = _LABEL.fullmatch(text) if text[-1:].isalnum() or text[-1:] in ("]", ")", ".") else None
        if match is None or len(match["who"].split()) > _NAME_WORDS_MAX:
            continue
        says_so = match["verb"] is not None or "@" in line[: line.find(match["who"])]
        if says_so or (":" in match["when"] and line.startswith(match["who"])):
            is_marked = is_marked or says_so
            labels.append(_Head(place, place + 1, match["who"], _stamp(match["when"])))
    often = Counter(head.who for head in labels)
    is_talk = is_marked or (len(labels) >= _LABELS_MIN and max(often.values(), default=0) > 1)
    return labels if is_talk else []


def _stamp(when: str) -> str:
    """A time as a conversation has it in front of a turn."""
    return normalised(when).replace("T", " ") or (when if ":" in when and len(when) <= 40 else "")
