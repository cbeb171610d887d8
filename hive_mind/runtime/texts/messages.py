"""Messages as conversations: e-mail, and exports of chats and issue trackers in JSON.

One message (.eml) or a box of them (.mbox) is what its senders say at a time, under its subject. Left out are attachments. Lines
quoted from other messages are no statements, as somebody else made those; the last of them stand before what answers them.

Exports are of Slack, Telegram, logs of assistants, issues of GitHub and Jira. A list of messages is known by its entries, which
have a text and somebody who wrote it. A reply stands behind what it answers, and the other fields of an issue are lines under its
title.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import parseaddr, parsedate_to_datetime
from itertools import chain, groupby
from typing import Any

from hive_mind.cognition.extraction.messages import holds_mail, name_of, subject_of, turns
from hive_mind.regex import regex
from hive_mind.runtime.texts import Document, document_of_html

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


def text_of_mail(body: bytes) -> Document:
    """One message or a box of them, as what its senders say at a time, in their order."""
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
    return document_of_html(text).text if part.get_content_type() == "text/html" else text


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


_TEXTS = ("text", "body", "content", "message", "description")
_AUTHORS = ("user_profile", "author", "user", "from", "sender", "speaker", "username", "role", "name", "creator", "reporter")
_NAMES = ("real_name", "display_name", "displayName", "global_name", "name", "login", "username")
_TIMES = ("ts", "created_at", "createdAt", "created", "date", "timestamp", "time", "sent_at", "create_time", "updated")
_THREADS = ("thread_ts", "reply_to_message_id", "reply_to", "in_reply_to_id", "parent_id")
_LISTS = ("messages", "comments", "notes", "conversation", "nodes", "items", "issues", "replies", "posts")
_TITLES = ("title", "summary", "subject")
# Addresses and keys of a program say nothing to people.
_FIELD_LEFT_OUT = regex(
    r"(?i)(?:.*_)?(?:urls?|id|ids|node|avatar|sha|hash|href|self|reactions|key|locked|permissions?|association)|.*(?:Url|Id)"
)
# These stand in the turns.
_TOLD = frozenset((*_TEXTS, *_TITLES, *_LISTS, *_AUTHORS, *_TIMES))
_FIELD_SHOWN_MAX = 200
# Seconds are counted to the thirteenth digit in thousandths.
_SECONDS_MAX = 1e11
_MESSAGES_SHARE_MIN = 0.5
_DEPTH_MAX = 6

_MENTION = regex(r"<@(?P<id>[A-Z0-9]{1,20})(?:\|(?P<name>[^<>|]{1,80}))?>")
_LINK = regex(r"<(?P<at>(?:https?://|mailto:)[^<>|]{1,500})(?:\|(?P<text>[^<>|]{1,300}))?>")
_CHANNEL = regex(r"<[#!](?:[A-Z0-9]{1,20}\|)?(?P<name>[^<>|]{1,80})>")


def text_of_threads(source: str, people: Mapping[str, str]) -> str | None:
    """The conversations in a JSON document, or in one a line; None where there are none, and where it is nested too deeply.

    `people`: names by id.
    """
    try:
        data = json.loads(source)
    except (ValueError, RecursionError):
        try:
            data = [json.loads(line) for line in source.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            return None
    try:
        return "\n".join(_Threads(data, people).lines(data, 0)).strip() + "\n" if _has_threads(data, 0) else None
    except RecursionError:
        return None


def people_in(source: str) -> dict[str, str]:
    """The names of people by their id, in the list that an export has of them."""
    try:
        entries = json.loads(source)
    except (ValueError, RecursionError):
        return {}
    profiles = (entry for entry in entries if isinstance(entry, dict)) if isinstance(entries, list) else ()
    return {
        str(entry["id"]): name for entry in profiles if "id" in entry and (name := _name(entry.get("profile")) or _name(entry))
    }


def _has_threads(data: Any, depth: int) -> bool:
    if isinstance(data, list):
        return _is_talk(data) or any(map(_is_issue, data))
    if not isinstance(data, dict) or depth > _DEPTH_MAX:
        return False
    return _is_issue(data) or any(_has_threads(data.get(name), depth + 1) for name in _LISTS)


def _is_talk(entries: Sequence[Any]) -> bool:
    messages = sum(
        isinstance(entry, dict) and bool(_said(entry)) and bool(_author(entry)) and not _title(entry) for entry in entries
    )
    return messages > 0 and messages >= _MESSAGES_SHARE_MIN * len(entries)


def _is_issue(data: Any) -> bool:
    fields = _fields_of(data)
    return bool(_title(fields) and _said(fields) and (_author(fields) or _time(fields)))


def _fields_of(data: Any) -> dict[str, Any]:
    """The fields of an issue; Jira has them below its key."""
    if not isinstance(data, dict):
        return {}
    inner = data.get("fields")
    return {**inner, "key": data.get("key", "")} if isinstance(inner, dict) else data


class _Threads:
    """Writes the conversations of one document."""

    def __init__(self, data: Any, people: Mapping[str, str]) -> None:
        self._people = {**people, **dict(_profiles(data, 0))}

    def lines(self, data: Any, depth: int) -> Iterator[str]:
        if depth > _DEPTH_MAX:
            return
        if isinstance(data, list):
            if _is_talk(data):
                yield from self._talk([entry for entry in data if isinstance(entry, dict)])
            else:
                for entry in data:
                    yield from self.lines(entry, depth + 1)
        elif _is_issue(data):
            fields = _fields_of(data)
            yield from (f"# {' '.join(_title(fields).split())}", "")
            for key, value in fields.items():
                text = _short(value)
                if text and key not in _TOLD and not _FIELD_LEFT_OUT.fullmatch(key):
                    yield from (f"{key}: {text}", "")
            if author := self._who(fields):
                yield from (f"opened by: {author}", "")
            yield from self._turns(fields)
            for name in ("comment", *_LISTS):
                below = fields.get(name)
                entries = next(filter(None, map(below.get, _LISTS)), None) if isinstance(below, dict) else below
                if isinstance(entries, list) and _is_talk(entries):
                    yield from self._talk([entry for entry in entries if isinstance(entry, dict)])
        elif isinstance(data, dict):
            if title := data.get("channel") or data.get("name") or _title(data):
                yield from (f"# {title}", "") if isinstance(title, str) else ()
            for name in _LISTS:
                yield from self.lines(data.get(name), depth + 1)

    def _talk(self, messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        """The messages, each reply behind the thread that it belongs to, and what it answers right before it."""
        by_id = {str(key): message for message in messages for name in ("ts", "id") if (key := message.get(name)) is not None}
        threads: dict[str, list[Mapping[str, Any]]] = {}
        for number, message in enumerate(messages):
            own = str(message.get("ts") or message.get("id") or f"#{number}")
            root = str(message.get("thread_ts") or own)
            threads.setdefault(root if root in by_id else own, []).append(message)
        for message in chain.from_iterable(threads.values()):
            answered = by_id.get(str(next(filter(None, (message.get(name) for name in _THREADS[1:])), "")))
            if answered is not None and answered is not message:
                yield from (f"> {' '.join(self._shown(_said(answered)).split())}", "")
            yield from self._turns(message)
            replies = message.get("replies")
            yield from (
                self._talk([reply for reply in replies if isinstance(reply, dict) and _said(reply)])
                if isinstance(replies, list)
                else ()
            )

    def _turns(self, message: Mapping[str, Any]) -> Iterator[str]:
        # People who come and go say nothing.
        if str(message.get("subtype", "")).endswith(("_join", "_leave", "_topic", "_purpose")):
            return
        yield from turns(self._who(message), _time(message), self._shown(_said(message)).splitlines())

    def _who(self, message: Mapping[str, Any]) -> str:
        author = _author(message)
        return name_of(self._people.get(author, author))

    def _shown(self, text: str) -> str:
        """Without the marks of a chat program."""
        if "<" in text:
            text = _MENTION.sub(lambda match: match["name"] or self._people.get(match["id"], match["id"]), text)
            text = _CHANNEL.sub(r"\g<name>", text)
            text = _LINK.sub(lambda match: f"{match['text']} ({match['at']})" if match["text"] else match["at"], text)
        return html.unescape(text)


def _profiles(data: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Names that messages bring with them."""
    entries = data if isinstance(data, list) else [data.get(name) for name in _LISTS] if isinstance(data, dict) else ()
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("user"), str) and (name := _name(entry.get("user_profile"))):
            yield entry["user"], name
        elif isinstance(entry, list) and depth < _DEPTH_MAX:
            yield from _profiles(entry, depth + 1)


def _said(message: Mapping[str, Any]) -> str:
    return next(filter(None, (_plain(message.get(name)) for name in _TEXTS)), "")


def _plain(value: Any) -> str:
    """A text, also one in parts, as Telegram and programs that talk with models have it."""
    if isinstance(value, list):
        return "".join(
            part if isinstance(part, str) else _plain(part.get("text")) if isinstance(part, dict) else "" for part in value
        )
    return value.strip("\n") if isinstance(value, str) else ""


def _author(message: Mapping[str, Any]) -> str:
    return next(filter(None, (_name(message.get(name)) for name in _AUTHORS)), "")


def _name(value: Any) -> str:
    if isinstance(value, dict):
        return next((name for name in map(value.get, _NAMES) if isinstance(name, str) and name), "")
    return value if isinstance(value, str) else ""


def _title(fields: Mapping[str, Any]) -> str:
    return next((value for value in map(fields.get, _TITLES) if isinstance(value, str) and value.strip()), "")


def _time(message: Mapping[str, Any]) -> str:
    """When it was written, as a conversation has it; "" where it does not say so."""
    value = next((value for value in map(message.get, _TIMES) if isinstance(value, str | int | float) and value), "")
    try:
        seconds = float(value)
        moment = datetime.fromtimestamp(seconds / 1000 if seconds > _SECONDS_MAX else seconds, UTC)
    except (ValueError, OverflowError, OSError):
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            return ""
    return f"{moment:%Y-%m-%d %H:%M}"


def _short(value: Any) -> str:
    """A value of a few words, or the names of a few things; "" for any other."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(_short, value)))[:_FIELD_SHOWN_MAX]
    text = (
        _title(value) or _name(value)
        if isinstance(value, dict)
        else str(value)
        if isinstance(value, str | int | float) and value
        else ""
    )
    return " ".join(text.split()) if len(text) <= _FIELD_SHOWN_MAX and not isinstance(value, bool) else ""
