"""Values as they can be kept: models and tools give halves of surrogate pairs, which no UTF-8 has, and lists in lists."""

from typing import Any

DEPTH_MAX = 100
"""A reader of JSON gives up at some hundreds."""
_CUT = "…"


def plain(value: Any, depth: int = DEPTH_MAX) -> Any:
    """A value with such halves replaced by "?", also in lists and mappings, and with "…" for what is nested deeper.

    Whatever else it holds stays as it is.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if not isinstance(value, dict | list | tuple):
        return value
    if not depth:
        return _CUT
    if isinstance(value, dict):
        return {plain(key): plain(one, depth - 1) for key, one in value.items()}
    return [plain(one, depth - 1) for one in value]
