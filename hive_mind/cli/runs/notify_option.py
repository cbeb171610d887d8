"""`--notify`: a webhook or a command that gets a notice of each item for which a run waits, while the run is driven here."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli.output import say
from hive_mind.cli.running import Stopped
from hive_mind.errors import InvalidInput

if TYPE_CHECKING:
    from hive_mind.agents.notices import Deliver
    from hive_mind.agents.runs.performer import RunParts

Notify = Annotated[
    str,
    typer.Option(
        "--notify",
        metavar="URL|COMMAND",
        help="Send a notice of each item that waits for a person: to a webhook, or to a command's standard input.",
        show_default="none",
    ),
]


def refuse_notify(notify: str) -> None:
    """Raises `InvalidInput` where a fleet says who gets notices."""
    if notify:
        raise InvalidInput("a fleet runs here, and its manifest says who gets notices (spec.notify): leave out --notify")


def check_notify(notify: str) -> None:
    """Raises `InvalidInput` for a notice that could go nowhere, before anything is done."""
    if notify:
        _delivery(notify)


def _delivery(notify: str) -> "Deliver":
    from hive_mind.agents.notices import delivery
    from hive_mind.runtime.settings import environment_without_secrets, secret

    return delivery(notify, secret("HOOK_SECRET"), environment_without_secrets())


@asynccontextmanager
async def notifying(notify: str, parts: "RunParts") -> AsyncIterator[None]:
    """Send notices while a run is driven, and of what waits at its end; one that could not be sent is sent when it is resumed."""
    if not notify:
        yield
        return
    from hive_mind.agents.notices import Notices

    notices = Notices(parts.ledger, _delivery(notify), clock_ms=parts.clock_ms)
    following = asyncio.create_task(notices.follow(), name="notices")
    try:
        yield
    except Stopped:
        raise
    except typer.Exit:
        await notices.send_due()
        raise
    finally:
        following.cancel()
        await asyncio.wait([following])
        if not following.cancelled() and (error := following.exception()):
            say(f"notices stopped: {error}", style="yellow")
