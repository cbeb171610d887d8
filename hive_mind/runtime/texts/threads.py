"""Exports of chats and issue trackers in JSON, as conversations: Slack, Telegram, logs of assistants, issues of GitHub and Jira.

A list of messages is known by its entries, which have a text and somebody who wrote it. A reply stands behind what it answers,
and the other fields of an issue are lines under its title.
"""

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from hive_mind.cognition.extraction.messages import name_of, turns
from hive_mind.regex import regex

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
            yield from self._issue(_fields_of(data))
        elif isinstance(data, dict):
            if title := data.get("channel") or data.get("name") or _title(data):
                yield from (f"# {title}", "") if isinstance(title, str) else ()
            for name in _LISTS:
                yield from self.lines(data.get(name), depth + 1)

    def _issue(self, fields: Mapping[str, Any]) -> Iterator[str]:
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
