"""Reading files of untrusted content: every failure names the file, the place in it, and the remedy."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from hive_mind.errors import InvalidInput
from hive_mind.model.decoding import converted, json_decoder

T = TypeVar("T")
# Python's reader, which sees keys that come twice, takes seconds for more; files of that size are published ones.
_CHECKED_BYTES_MAX = 64_000_000
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Identified(Protocol):
    """A line that has an id."""

    @property
    def id(self) -> str:
        """Another one on every line of a file."""
        ...


Line = TypeVar("Line", bound=Identified)


def read_bytes(path: Path) -> bytes:
    """The file's bytes without a byte order mark. Raises `InvalidInput`, also for UTF-16."""
    try:
        body = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path}: can't be read ({error.strerror}); check the path") from error
    if body.startswith(_UTF16):
        raise InvalidInput(f"{path}: is UTF-16; save the file as UTF-8")
    return body.removeprefix(b"\xef\xbb\xbf")


def read_text(path: Path) -> str:
    """The file's text. Raises `InvalidInput` with the line."""
    return _text(path, read_bytes(path))


def read_json(path: Path) -> Any:
    """The file's one JSON value. Raises `InvalidInput` with the line."""
    body = read_bytes(path)
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # Files of hundreds of megabytes are read by the faster reader; the slower one knows the line of what is wrong.
        raise InvalidInput(f"{path}, {_what_is_wrong(path, body, error)}; correct it or download the file again") from error
    if len(body) <= _CHECKED_BYTES_MAX:
        _refuse_repeated_keys(body, str(path))
    return value


def read_lines(path: Path, shape: type[Line]) -> Iterator[tuple[str, Line]]:
    """JSON Lines of one shape, each with its place, "FILE, line N". Raises `InvalidInput`, also for an id that comes twice."""
    first_seen: dict[str, int] = {}
    for number, raw in enumerate(read_bytes(path).splitlines(), 1):
        if not raw.strip():
            continue
        place = f"{path}, line {number}"
        line = decoded(raw, shape, place)
        if line.id in first_seen:
            raise InvalidInput(f"{place}: _id {line.id!r} is already on line {first_seen[line.id]}; rename one")
        first_seen[line.id] = number
        yield place, line


def decoded(line: bytes, shape: type[T], place: str) -> T:
    """One JSON line as the given shape. `place` is "FILE, line N". Raises `InvalidInput`."""
    try:
        value = json_decoder(shape)(line)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{place}: not UTF-8; save the file as UTF-8") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInput(f"{place}: {error}; correct this line") from error
    _refuse_repeated_keys(line, place)
    return value


def _refuse_repeated_keys(body: bytes, place: str) -> None:
    """Raises `InvalidInput` for an object in which a key stands twice: readers take one of the values in silence."""

    def refuse_repeated(pairs: list[tuple[str, Any]]) -> None:
        keys: set[str] = set()
        for key, _ in pairs:
            if key in keys:
                raise InvalidInput(f"{place}: the key {key[:80]!r} stands twice in one object; keep one")
            keys.add(key)

    # The faster reader took it, which reads deeper and larger than this one.
    with suppress(ValueError, RecursionError):
        json.loads(body, object_pairs_hook=refuse_repeated, parse_int=str)


def shaped(value: Any, shape: type[T], place: str) -> T:
    """A decoded JSON value as the given shape. `place` is "FILE, where in it". Raises `InvalidInput`."""
    try:
        return converted(value, shape)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{place}: {error}; correct it or download the file again") from error


def one_of(folder: Path, names: Sequence[str], name: str, kind: str) -> str:
    """The named one of what a folder holds, or the only one there is. Raises `InvalidInput`."""
    if not name and len(names) > 1:
        raise InvalidInput(f"{folder}: holds several {kind}s; name one of {', '.join(names)}")
    chosen = name or names[0]
    if chosen not in names:
        raise InvalidInput(f"{folder}: holds no {kind} {chosen!r}; name one of {', '.join(names)}")
    return chosen


def in_words(value: Any) -> str:
    """A value of JSON as text: files give years and counts as numbers, and null for nothing."""
    return "" if value is None else str(value)


def _text(path: Path, body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"{path}, line {line}: not UTF-8; save the file as UTF-8") from error


def _what_is_wrong(path: Path, body: bytes, exception: Exception) -> str:
    try:
        # Python refuses to make a number of thousands of digits; here it is only looked for what is no JSON.
        json.loads(_text(path, body), parse_int=str)
    except json.JSONDecodeError as error:
        return f"line {error.lineno}: not JSON ({error})"
    except RecursionError as error:
        return f"line 1: not JSON ({error})"
    # Half a surrogate pair or NaN, which no other program could read.
    return f"line 1: not JSON ({exception})"
