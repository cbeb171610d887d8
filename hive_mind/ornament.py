"""Ornaments of an answer: disputes, notes, other words for a question. One that can't be made is left out, and a line is logged.

A text of somebody else must not keep others from their facts. So a function that only adds to an answer is marked here, with what
stands in its place, and nobody who calls it has to think of failures. The evidence of an answer is no ornament, and raises.
"""

import logging
from collections.abc import Callable
from functools import lru_cache, wraps
from inspect import iscoroutinefunction
from pathlib import Path
from traceback import extract_tb
from typing import Any, ParamSpec, TypeVar, cast

_log = logging.getLogger(__name__)
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def ornament(plain: Callable[..., Any]) -> Callable[[Callable[_Given, _Result]], Callable[_Given, _Result]]:
    """Marks a function of an ornament, also one that is awaited. `plain`, given its arguments, makes what stands in its place."""

    def marked(make: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
        awaited = cast(Callable[..., Any], make)

        @wraps(make)
        def made(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
            try:
                return make(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is not worth an answer
                _left_out(make.__qualname__, error)
                return cast(_Result, plain(*args, **kwargs))

        @wraps(make)
        async def made_later(*args: _Given.args, **kwargs: _Given.kwargs) -> Any:
            try:
                return await awaited(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - as above
                _left_out(make.__qualname__, error)
                return plain(*args, **kwargs)

        return cast(Callable[_Given, _Result], made_later) if iscoroutinefunction(make) else made

    return marked


def _left_out(what: str, error: Exception) -> None:
    """Without the error's words: they may hold some of a private text."""
    last = extract_tb(error.__traceback__)[-1]
    _log_once(what, type(error).__name__, f"{Path(last.filename).name}:{last.lineno}")


# A statement that breaks one is met again by every question.
@lru_cache(maxsize=1024)
def _log_once(what: str, kind: str, place: str) -> None:
    _log.warning("%s failed (%s at %s): answers go without it", what, kind, place)
