"""The body of a request, read: its bytes, or the texts of a form.

Strangers may send any body to the doors that need no token. One that can't be read is a mistake of its sender's, no defect of
ours: it is refused in a line, and no log shows where in a library it broke.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from hive_mind.errors import InvalidInput


async def body_of(request: web.Request) -> bytes:
    """Raises `InvalidInput` for one that is not encoded as its head says, and where the caller went away before its end."""
    with _refused():
        return await request.read()


async def form_of(request: web.Request) -> dict[str, str]:
    """The texts by name; files are left out. Raises `InvalidInput` also for what is no form."""
    with _refused():
        return {name: value for name, value in (await request.post()).items() if isinstance(value, str)}


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except ConnectionError as error:
        raise InvalidInput("no request: the caller went away") from error
    # Of forms: no boundary, an encoding that nobody knows, bytes that are not in it, parts without an end.
    except (web.RequestPayloadError, ValueError, LookupError, AssertionError) as error:
        raise InvalidInput("no request: the body is not what its head says: look at its type and its encoding") from error
