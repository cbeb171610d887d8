"""Texts as they can be kept: models and tools give halves of surrogate pairs, which no UTF-8 has."""

from typing import Any


def plain(value: Any) -> Any:
    """A value with such halves replaced by "?", also in lists and mappings; whatever else it holds stays as it is."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value
