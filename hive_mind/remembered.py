"""The register of functions that remember texts in RAM, so that what is erased is nowhere remembered.

A function whose arguments are texts, words or what follows from them is `remembered`, never kept by `functools` alone.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

_Result = TypeVar("_Result")

# Filled where functions are defined, and never after.
_KEEPERS: "list[_lru_cache_wrapper[Any]]" = []


def remembered(maxsize: int) -> "Callable[[Callable[..., _Result]], _lru_cache_wrapper[_Result]]":
    """Remember the last results of a function, as `lru_cache` does, until texts are to be forgotten."""

    def keeping(work: Callable[..., _Result]) -> "_lru_cache_wrapper[_Result]":
        keeper = lru_cache(maxsize)(work)
        _KEEPERS.append(keeper)
        return keeper

    return keeping


def forget_texts() -> None:
    """Drop the texts and words remembered in this process: some may have been erased."""
    for keeper in _KEEPERS:
        keeper.cache_clear()


def remembered_texts() -> int:
    """How many results of texts are remembered now."""
    return sum(keeper.cache_info().currsize for keeper in _KEEPERS)
