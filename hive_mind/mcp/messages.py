"""A client's message, as the protocol's library takes it: mended where its text is, refused where it is none.

The library drops what it can't read without a word, over standard input and output, and its client waits for ever. So each line
and each body comes by here first: it is passed on, or it has its refusal. Only a notification is left without an answer.
"""

import json
from codecs import BOM_UTF8
from typing import Any

from mcp_types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from pydantic import ValidationError

from hive_mind.printable import whole_characters
from hive_mind.regex import regex

# As much as the library takes over HTTP: a longer text is given in parts.
MESSAGE_BYTES_MAX = 4 << 20

# The id of a message that is too long to be read, where it stands as clients write it: first or last in the object.
_ID = r'"id"\s*:\s*(-?(?:0|[1-9]\d{0,17})|"[^"\\]{0,200}")'
_VERSION = r'"jsonrpc"\s*:\s*"2\.0"'
_ID_FIRST = regex(rf"\s*\{{\s*(?:{_VERSION}\s*,\s*)?{_ID}\s*,")
_ID_LAST = regex(rf",\s*{_ID}(?:\s*,\s*{_VERSION})?\s*\}}\s*\Z")
_END_BYTES = 512


class Refused(Exception):
    """No message. `reply`: the answer to it."""

    def __init__(self, code: int, why: str, id: object = None) -> None:
        super().__init__(why)
        error = {"code": code, "message": why}
        self.reply = json.dumps({"jsonrpc": "2.0", "id": id, "error": error}).encode()


def message_of(raw: bytes) -> bytes:
    """A line or a body as the library takes it. Raises `Refused`.

    A mark of its encoding goes; what is no text in it becomes U+FFFD, as does half a surrogate pair.
    """
    try:
        value = json.loads(raw.removeprefix(BOM_UTF8).decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise Refused(PARSE_ERROR, f"a message is one line of JSON: {error}") from error
    if not isinstance(value, dict):
        raise Refused(INVALID_REQUEST, f"a message is a JSON object, not {_kind_of(value)}: send one at a time")
    id = value.get("id")
    # An error may say that it did not find out to what; to answer that would go on for ever.
    if "id" in value and not _is_id(id) and not (id is None and "method" not in value and "error" in value):
        raise Refused(INVALID_REQUEST, "`id` is a string or a whole number; a notification has none")
    message = whole_characters(json.dumps(value, ensure_ascii=False)).encode()
    try:
        jsonrpc_message_adapter.validate_json(message, by_name=False)
    except ValidationError as error:
        raise Refused(INVALID_REQUEST, _what_it_has(value), _whole_id(id)) from error
    return message


def too_long(begin: bytes | bytearray, end: bytes | bytearray) -> Refused:
    """The refusal of a message by its first and last bytes."""
    first, last = begin[:_END_BYTES].decode("utf-8", "replace"), end[-_END_BYTES:].decode("utf-8", "replace")
    id = _ID_FIRST.match(first) or _ID_LAST.search(last)
    why = f"a message has at most {MESSAGE_BYTES_MAX:,} bytes: give a long text in parts"
    return Refused(INVALID_REQUEST, why, json.loads(id[1]) if id else None)


def _what_it_has(message: dict[str, Any]) -> str:
    if message.get("jsonrpc") != "2.0":
        return '`jsonrpc` is "2.0"'
    if "method" not in message:
        return "a request has a `method`, an answer a `result` or an `error`"
    if not isinstance(message["method"], str):
        return f"`method` is a string, not {_kind_of(message['method'])}"
    if message.get("params") is not None and not isinstance(message["params"], dict):
        return f"`params` is an object, not {_kind_of(message['params'])}"
    return "a message can't be nested like this"


def _is_id(id: object) -> bool:
    return isinstance(id, (int, str)) and not isinstance(id, bool)


def _whole_id(id: object) -> object:
    return whole_characters(id) if isinstance(id, str) else id


def _kind_of(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
