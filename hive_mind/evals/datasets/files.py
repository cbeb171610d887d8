"""Reading files whose content is not trusted: every failure names the file, the place in it, and what to do."""

import json
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from hive_mind.errors import InvalidInput

T = TypeVar("T")


def read_bytes(path: Path) -> bytes:
    """The file's bytes without a byte order mark. Raises `InvalidInput`."""
    try:
        return path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise InvalidInput(f"{path}: can't be read ({error.strerror}); check the path") from error


def read_json(path: Path) -> Any:
    """The file's one JSON value. Raises `InvalidInput` with the line."""
    body = read_bytes(path)
    try:
        return json.loads(body.decode())
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"{path}, line {line}: not UTF-8; save the file as UTF-8") from error
    except (json.JSONDecodeError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise InvalidInput(f"{path}, line {line}: not JSON ({error}); correct it or download the file again") from error


def decoded(line: bytes, shape: type[T], place: str) -> T:
    """One JSON line as the given shape. `place` is "FILE, line N". Raises `InvalidInput`."""
    try:
        return msgspec.json.decode(line, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{place}: {error}; correct this line") from error


def shaped(value: Any, shape: type[T], place: str) -> T:
    """A decoded JSON value as the given shape. `place` is "FILE, where in it". Raises `InvalidInput`."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{place}: {error}; correct it or download the file again") from error
