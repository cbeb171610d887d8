"""E-mail: one message (.eml) or a box of them (.mbox), as what its senders say at a time, under its subject.

Left out are attachments. Lines quoted from other messages are no statements, as somebody else made those; the last of them stand
before what answers them.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import parseaddr, parsedate_to_datetime
from itertools import groupby

from hive_mind.cognition.extraction.messages import holds_mail, name_of, subject_of
from hive_mind.regex import regex
from hive_mind.runtime.texts.document import Document
from hive_mind.runtime.texts.html_text import text_of_html

SUFFIXES = (".eml", ".mbox")
PACKAGE = ""

# Between messages. Where a message has a line like that, the program put a bracket in front.
_BOX = re.compile(rb"(?:\A|\r?\n)From \S[^\n]*\d{4}\r?\n")
_BRACKETED = re.compile(rb"^>(?=>*From )", re.MULTILINE)
_LAID_OUT = regex(r"\s|[-*+•|#>]\s?|\d{1,3}[.)]\s")
_SIGNATURE = regex(r"^-- ?$.*", re.MULTILINE | re.DOTALL)
_WROTE = regex(
    r"^[^\n]{0,300}(?:wrote|schrieb|écrit|escribió|escreveu|scritto|schreef)\s?:\s*\Z|^(?=.{7})-{2,}+(?:[^-\n](?:[^\n]{0,58}[^-\n])?-{2,})?$",
    re.MULTILINE,
)
# "On Mon, 2 Mar 2026 at 09:30, Ana Lopes <ana@example.org> wrote:"
_AUTHOR = regex(r"(?P<name>[^\W\d_][\w .'’-]{0,40}?)\s{0,3}<[^<>\n]{1,100}>[^\n]{0,40}:\s*\Z")
_GREETING = regex(r"(?:\S+ ?){1,4},|[A-Z]\S{0,30}")
_SENTENCE_ENDS = regex(r"(?<=[.!?])\s+")
_QUOTED_WORDS_MIN, _QUOTED_CHARS_MAX = 3, 350


@dataclass(frozen=True, slots=True)
class _Quotation:
    """Words that a message quotes to answer them, and their author, or ""."""

    text: str
    author: str


def is_one(body: bytes) -> bool:
    """Many texts begin like a message, so its name has to say so."""
    del body
    return False


def read(body: bytes) -> Document:
    """All messages in the order in which they are there."""
    left_out = Counter[str]()
    return Document("\n\n".join(_shown(message, left_out) for message in _messages(body)), dict(left_out))


def _messages(body: bytes) -> Iterator[EmailMessage]:
    parts = _BOX.split(body)[1:] if body.startswith(b"From ") else [body]
    for part in parts:
        yield message_from_bytes(_BRACKETED.sub(b"", part), policy=default)


def _shown(message: EmailMessage, left_out: Counter[str]) -> str:
    subject, who, body = subject_of(str(message.get("subject", ""))), _who(message), _body(message)
    if attached := sum(1 for _ in message.iter_attachments()):
        left_out["attachment"] += attached
    if holds_mail(body.splitlines()):
        # The message below is read as mail is that somebody copied, and so is this one.
        return "\n".join(f"{name}: {message.get(name, '')}" for name in ("From", "Date", "Subject")) + f"\n\n{body}"
    turns = [_turn(who, paragraph, answered) for paragraph, answered in _paragraphs(body, left_out)]
    return (f"# {subject}\n\n" if subject else "") + "\n\n".join(turns)


def _turn(who: str, paragraph: str, answered: _Quotation | None) -> str:
    """A paragraph with its sender, behind what it answers: a question as its asker's, for else it is only quoted."""
    if not _is_prose(paragraph):
        return paragraph
    turn = f"{who}{paragraph}"
    if answered is None or not who:
        return turn
    is_asked = answered.author and answered.text.endswith("?")
    before = f"{answered.author}: {_SENTENCE_ENDS.split(answered.text)[-1]}" if is_asked else f"> {answered.text}"
    return f"{before}\n\n{turn}"


def _body(message: EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    try:
        text = str(part.get_content())
    except (LookupError, ValueError):
        payload = part.get_payload(decode=True)
        text = payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""
    return text_of_html(text) if part.get_content_type() == "text/html" else text


def _paragraphs(text: str, left_out: Counter[str]) -> Iterator[tuple[str, _Quotation | None]]:
    """The paragraphs that the sender wrote; the first behind a quotation with that, or the first of all with one below."""
    lines = _SIGNATURE.sub("", text.replace("\r\n", "\n")).split("\n")
    parts = ["\n".join(part) for _, part in groupby(lines, key=lambda line: line.startswith(">"))]
    quotations = {
        place: _quotation(part, parts[place - 1] if place else "") for place, part in enumerate(parts) if part[:1] == ">"
    }
    if quoted := sum(line.startswith(">") for line in lines):
        left_out["quoted line"] += quoted
    # A message as a whole answers the text below it; a question in that may be answered anywhere.
    below = next((replace(found, author="") for found in quotations.values() if found), None)
    for place, part in enumerate(parts):
        if place in quotations:
            continue
        answered = quotations.get(place - 1) or below
        for paragraph in re.split(r"\n\s*\n", _WROTE.sub("", part.strip())):
            # Lines of a message are as long as a screen was wide; those of a list stand for themselves.
            if own := paragraph.strip("\n"):
                yield " ".join(own.split()) if _is_prose(own) else own, None if _GREETING.fullmatch(own) else answered
                answered, below = (answered if _GREETING.fullmatch(own) else None), None


def _quotation(part: str, above: str) -> _Quotation | None:
    """The last paragraph that a part quotes, and its author as the line above it says; None for one that is quoted in it."""
    text = "\n".join(line[1:].strip() for line in part.split("\n") if not line[1:].lstrip().startswith(">"))
    paragraphs = [" ".join(found.split()) for found in re.split(r"\n\s*\n", text)]
    author = _AUTHOR.search(above)
    last = next((found for found in reversed(paragraphs) if len(found.split()) >= _QUOTED_WORDS_MIN), "")
    return _Quotation(last[-_QUOTED_CHARS_MAX:], " ".join(author["name"].split()) if author else "") if last else None


def _is_prose(paragraph: str) -> bool:
    return not any(_LAID_OUT.match(line) for line in paragraph.split("\n"))


def _who(message: EmailMessage) -> str:
    """When it was sent and by whom, as in a conversation: "[2025-03-10 09:30] Ana Lopes: "; "" where nobody is named."""
    name, address = parseaddr(str(message.get("from", "")))
    sender = name_of(name or address.partition("@")[0])
    try:
        sent = f"[{parsedate_to_datetime(str(message['date'])):%Y-%m-%d %H:%M}] "
    except (TypeError, ValueError):
        sent = ""
    return f"{sent}{sender}: " if sender else ""
