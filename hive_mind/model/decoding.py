"""Decoders of msgspec, made one at a time: two threads that make the first decoder of a type at once crash the interpreter."""

from collections.abc import Callable
from functools import cache
from threading import RLock
from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")
Hook = Callable[[type, Any], Any] | None

_LOCK = RLock()
"""held while msgspec learns the fields of a type and of those within it, which it then knows for good, and while it converts"""


@overload
def json_decoder(kind: type[T]) -> Callable[[bytes | str], T]: ...
@overload
def json_decoder(kind: Any) -> Callable[[bytes | str], Any]: ...
def json_decoder(kind: Any) -> Callable[[bytes | str], Any]:
    """A function that reads JSON as this type. Raises `DecodeError` of msgspec, before 0.23 also `UnicodeDecodeError`."""
    with _LOCK:
        return _json_decoder(kind)


@overload
def msgpack_decoder(kind: type[T], hook: Hook = None) -> Callable[[bytes | memoryview], T]: ...
@overload
def msgpack_decoder(kind: Any, hook: Hook = None) -> Callable[[bytes | memoryview], Any]: ...
def msgpack_decoder(kind: Any, hook: Hook = None) -> Callable[[bytes | memoryview], Any]:
    """A function that reads MessagePack as this type; `hook` makes those that msgspec doesn't know. Raises as that of JSON."""
    with _LOCK:
        return _msgpack_decoder(kind, hook)


@overload
def converted(value: Any, kind: type[T], hook: Hook = None) -> T: ...
@overload
def converted(value: Any, kind: Any, hook: Hook = None) -> Any: ...
def converted(value: Any, kind: Any, hook: Hook = None) -> Any:
    """Plain lists, dicts and values as this type. Raises `ValidationError` of msgspec."""
    with _LOCK:
        return msgspec.convert(value, kind, dec_hook=hook)


def is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


@cache
def _json_decoder(kind: Any) -> Callable[[bytes | str], Any]:
    return msgspec.json.Decoder(kind).decode


@cache
def _msgpack_decoder(kind: Any, hook: Hook) -> Callable[[bytes | memoryview], Any]:
    return msgspec.msgpack.Decoder(kind, dec_hook=hook).decode
