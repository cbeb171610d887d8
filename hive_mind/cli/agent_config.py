"""`hive-mind agent --config`: be the worker of a configuration file, as those who start fleets do.

Ends with 0 when it was told to stop, with 2 for a configuration that can't be, and with 3 where one of this name runs already.
"""

import asyncio
import logging
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hive_mind.cli.output import say
from hive_mind.cli.running import ending_signals, exit_codes
from hive_mind.runtime.settings import Settings

if TYPE_CHECKING:
    from aiohttp import web

    from hive_mind.runtime.workers.config import WorkerConfig

RUNS_ALREADY = 3


def run_configured(path: Path) -> None:
    """Run until a signal comes."""
    # Here, because it brings an HTTP server that no other command needs.
    from hive_mind.runtime.workers.process import AlreadyRuns

    with exit_codes() as ending:
        try:
            asyncio.run(ending.cancellable(_run(path.absolute())))
        except AlreadyRuns as error:
            say(f"error: {error}", style="red")
            sys.exit(RUNS_ALREADY)


def run_alone(path: Path) -> None:
    """The same without the command line, which takes a tenth of an idle worker's memory."""
    try:
        run_configured(path)
    except Exception as error:
        import typer

        if not isinstance(error, typer.Exit):
            raise
        sys.exit(error.exit_code)


async def _run(path: Path) -> None:
    from hive_mind.runtime.workers.process import run_worker

    stop, fleet = asyncio.Event(), path.parent.parent
    with set_by_signals(stop, []):
        await run_worker(path, stop, logging.StreamHandler(sys.stderr), _pages)
    if not await asyncio.to_thread(fleet.exists):
        from hive_mind.control.processes.private_redis import end_astray

        await asyncio.to_thread(end_astray, fleet)


def _pages(config: "WorkerConfig", token: str) -> "Mapping[str, web.Application]":
    """The console: for browsers on this machine, and elsewhere where hosts are named."""
    from hive_mind.console import PREFIX
    from hive_mind.console.app import console
    from hive_mind.console.seen import FleetOverHttp
    from hive_mind.console.visit import Decisions
    from hive_mind.runtime.workers.health import is_loopback

    settings = Settings.from_environment()
    hosts = [name.strip() for name in settings.console_hosts.split(",") if name.strip()]
    is_local = is_loopback(settings.http_host)
    if not is_local and not hosts:
        return {}
    run = Path(config.run)
    decisions = Decisions(run.parent / "logs" / "decisions.jsonl" if config.models.store != "memory" else None)
    return {PREFIX: console(FleetOverHttp(run), token, decisions, () if is_local else hosts, name=config.fleet)}


@contextmanager
def set_by_signals(stop: asyncio.Event, received: list[signal.Signals]) -> Iterator[None]:
    """While it lasts, signals that end a process set an event instead; the second Ctrl-C does end it."""
    loop = asyncio.get_running_loop()

    def note(number: signal.Signals) -> None:
        received.append(number)
        stop.set()
        if number is signal.SIGINT:
            loop.remove_signal_handler(number)

    before = {number: signal.getsignal(number) for number in ending_signals(signal.SIGINT)}
    for number in before:
        loop.add_signal_handler(number, note, number)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
