"""What an async test is given that lives in its loop only, and so can't be made by a fixture."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from hive_mind import backends


@dataclass(frozen=True)
class InLoop:
    """The value of a fixture: its test is given what this opens, which is closed before the test's loop ends."""

    open: Callable[[], AbstractAsyncContextManager[Any]]


@asynccontextmanager
async def opened(kind: str, back_end: str, *given: Any, **options: Any) -> AsyncIterator[Any]:
    """One of a back end, which is closed afterwards."""
    made = await backends.load(kind, back_end).open(*given, **options)
    try:
        yield made
    finally:
        await made.close()


async def play(test: Callable[..., Any], given: dict[str, Any]) -> None:
    """Run an `async def test_…` with what its fixtures gave."""
    async with AsyncExitStack() as stack:
        for name, value in given.items():
            if isinstance(value, InLoop):
                given[name] = await stack.enter_async_context(value.open())
        await test(**given)


@contextmanager
def about(case: object) -> Iterator[None]:
    """Name the case of a table in what fails."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"about {case!a:.200}")
        raise
