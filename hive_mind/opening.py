"""The result of an `open_…`: awaited it is what was opened, which its caller closes; `async with` opens it and closes it again.

So every one of them is used alike, whether a program keeps the thing for long or for a block.
"""

from collections.abc import Callable, Coroutine, Generator
from contextlib import AsyncExitStack
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar


class Closable(Protocol):
    """A thing that is open until it is closed."""

    async def close(self) -> None:
        """Release what it has."""
        ...


P = ParamSpec("P")
Opened = TypeVar("Opened", bound=Closable)


class Opening(Coroutine[Any, Any, Opened]):
    """One opening, awaited or entered once; a coroutine like any other for who runs it."""

    def __init__(self, opening: Coroutine[Any, Any, Opened]) -> None:
        self._opening, self._stack = opening, AsyncExitStack()

    def send(self, value: Any) -> Any:
        return self._opening.send(value)

    def throw(self, *error: Any) -> Any:
        return self._opening.throw(*error)

    def close(self) -> None:
        """As of any coroutine; what it opened is not closed by it."""
        self._opening.close()

    def __await__(self) -> Generator[Any, Any, Opened]:
        return self._opening.__await__()

    async def __aenter__(self) -> Opened:
        opened = await self._opening
        try:
            if hasattr(opened, "__aenter__"):
                await opened.__aenter__()
        except BaseException:
            await opened.close()
            raise
        self._stack.push_async_callback(opened.close)
        return opened

    async def __aexit__(self, *error: Any) -> None:
        await self._stack.__aexit__(*error)


def opening(opens: Callable[P, Coroutine[Any, Any, Opened]]) -> Callable[P, Opening[Opened]]:
    """An `open_…` that is awaited or entered."""

    @wraps(opens)
    def begun(*args: P.args, **kwargs: P.kwargs) -> Opening[Opened]:
        return Opening(opens(*args, **kwargs))

    return begun
