"""E-mail: one message (.eml) or a box of them (.mbox), as what its senders say at a time, under its subject.

Left out are attachments, and lines quoted from other messages: somebody else said those.
"""

import re
from collections import Counter
from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import parseaddr, parsedate_to_datetime

from hive_mind.regex import regex
from hive_mind.runtime.texts.document import Document
from hive_mind.runtime.texts.html_text import text_of_html

SUFFIXES = (".eml", ".mbox")
PACKAGE = ""

# Between messages. Where a message has a line like that, the program put a bracket in front.
_BOX = re.compile(rb"(?:\A|\r?\n)From \S[^\n]*\d{4}\r?\n")
_BRACKETED = re.compile(rb"^>(?=>*From )", re.MULTILINE)
_NOT_NAME = regex(r"[^\w\s'’.&-]+")
_LAID_OUT = regex(r"\s|[-*+•|#>]\s?|\d{1,3}[.)]\s")
_SIGNATURE = regex(r"^-- ?$.*", re.MULTILINE | re.DOTALL)
_WROTE = regex(
    r"^[^\n]{0,300}(?:wrote|schrieb|écrit|escribió|escreveu|scritto|schreef)\s?:\s*\Z|^(?=.{7})-{2,}+(?:[^-\n](?:[^\n]{0,58}[^-\n])?-{2,})?$",
    re.MULTILINE,
)
_NAME_WORDS_MAX = 4


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
    subject = " ".join(str(message.get("subject", "")).split())
    said = "\n\n".join(_paragraphs(_body(message), left_out))
    if attached := sum(1 for _ in message.iter_attachments()):
        left_out["attachment"] += attached
    who = _who(message)
    turns = "\n\n".join(f"{who}{one}" if _is_prose(one) else one for one in said.split("\n\n"))
    return (f"# {subject}\n\n" if subject else "") + turns


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


def _paragraphs(text: str, left_out: Counter[str]) -> Iterator[str]:
    lines = _SIGNATURE.sub("", text.replace("\r\n", "\n")).split("\n")
    if quoted := sum(line.startswith(">") for line in lines):
        left_out["quoted line"] += quoted
    own = _WROTE.sub("", "\n".join("" if line.startswith(">") else line for line in lines).strip())
    for paragraph in re.split(r"\n\s*\n", own):
        # Lines of a message are as long as a screen was wide; those of a list stand for themselves.
        if found := paragraph.strip("\n"):
            yield " ".join(found.split()) if _is_prose(found) else found


def _is_prose(paragraph: str) -> bool:
    return not any(_LAID_OUT.match(line) for line in paragraph.split("\n"))


def _who(message: EmailMessage) -> str:
    """When it was sent and by whom, as in a conversation: "[2025-03-10 09:30] Ana Lopes: "; "" where nobody is named."""
    name, address = parseaddr(str(message.get("from", "")))
    words = _NOT_NAME.sub(" ", name or address.partition("@")[0]).split()[:_NAME_WORDS_MAX]
    try:
        sent = f"[{parsedate_to_datetime(str(message['date'])):%Y-%m-%d %H:%M}] "
    except (TypeError, ValueError):
        sent = ""
    return f"{sent}{' '.join(words)}: " if words else ""
