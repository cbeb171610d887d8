"""`hive-mind bus check`: whether a bus can be reached, lets us in, and brings back what is sent; and what it can.

It subscribes in a hive of its own, so that it takes nothing away from members that run.
"""

import asyncio
import secrets
from collections.abc import Awaitable
from dataclasses import dataclass, field
from statistics import median
from typing import Annotated, TypeVar

import typer

from hive_mind.bus import BusCapabilities, Envelope, EventBus, Inbox, Subscription, type_of
from hive_mind.bus.address import address_of, in_words
from hive_mind.cli import options
from hive_mind.cli.options import Format, Group, examples
from hive_mind.cli.output import plain, show, show_result, show_table
from hive_mind.cli.running import FAILED
from hive_mind.errors import BackendError, BackendRejected, BackendThrottled, BackendTimeout, InvalidInput
from hive_mind.model.messages import Receipt
from hive_mind.runtime.buses import open_bus
from hive_mind.runtime.settings import Settings

T = TypeVar("T")

_ROUNDS = 20
# The first may have to wake something up.
_ROUND_TRIP_S = 10.0
_CLOSE_S = 2.0

group = Group(
    name="bus",
    help="Look at the bus that members of a hive share.",
    epilog=examples("hive-mind bus check redis://127.0.0.1:6379"),
    no_args_is_help=True,
)


Hive = Annotated[str, typer.Option("--hive", help="Hive to subscribe in, where entities have to be made by hand.")]


@dataclass(slots=True)
class BusCheck:
    """The findings, in the order in which they were tried."""

    bus: str
    connect_ms: float | None = None
    capabilities: BusCapabilities | None = None
    subscribe_ms: float | None = None
    round_trip_ms: dict[str, float] = field(default_factory=dict)
    problem: str = ""
    advice: str = ""

    @property
    def is_ok(self) -> bool:
        return not self.problem


@group.called_as("hive-mind bus check redis://127.0.0.1:6379", "hive-mind bus check --output json")
async def check(
    url: Annotated[str, typer.Argument(metavar="URL", help=in_words(), show_default="HIVE_MIND_BUS")] = "",
    hive: Hive = "bus-check",
    name: Annotated[str, typer.Option("--name", help="Node to subscribe as; not one that is running.")] = "check",
    output: options.Output = Format.TEXT,
) -> None:
    """Connect, subscribe, and send messages to itself. A credential is read from HIVE_MIND_BUS_CREDENTIAL."""
    url = url or Settings.from_environment().bus
    if not url:
        raise InvalidInput("which bus? Give its URL, or set HIVE_MIND_BUS")
    report = BusCheck(str(address_of(url)))
    try:
        opened, report.connect_ms = await _timed(open_bus(url))
        try:
            report.capabilities = opened.capabilities
            bell = asyncio.Event()
            inbox, report.subscribe_ms = await _timed(opened.subscribe(Subscription(hive, name), bell.set))
            times = []
            for _ in range(_ROUNDS):
                _, took_ms = await _timed(_round_trip(opened, inbox, bell, hive, name))
                times.append(took_ms)
            report.round_trip_ms = {"median": round(median(times), 3), "worst": round(max(times), 3)}
            await inbox.close()
        finally:
            await opened.close(drain_s=_CLOSE_S)
    except BackendError as error:
        report.problem, report.advice = str(error), _advice(error)
    show_result(output, {"is_ok": report.is_ok, **plain(report)}, lambda: _show(report))
    if not report.is_ok:
        raise typer.Exit(FAILED)


async def _round_trip(opened: EventBus, inbox: Inbox, bell: asyncio.Event, hive: str, name: str) -> None:
    message = Receipt(secrets.token_hex(8))
    envelope = Envelope(secrets.token_hex(8), hive, "bus check", (name,), type_of(message), message)
    try:
        async with asyncio.timeout(_ROUND_TRIP_S):
            await opened.publish([envelope])
            while not await _has_come(inbox, envelope):
                bell.clear()
                await bell.wait()
    except TimeoutError:
        raise BackendTimeout("bus", f"the loop-back message did not arrive within {_ROUND_TRIP_S:g} s") from None


async def _has_come(inbox: Inbox, envelope: Envelope) -> bool:
    """Whether it has arrived; messages of an earlier check are taken off on the way."""
    is_there = False
    for delivery in inbox.take(100):
        is_there |= delivery.envelope.id == envelope.id
        await delivery.ack()
    return is_there


async def _timed(work: Awaitable[T]) -> tuple[T, float]:
    loop = asyncio.get_running_loop()
    start_s = loop.time()
    return await work, round((loop.time() - start_s) * 1e3, 1)


def _advice(error: BackendError) -> str:
    match error:
        case BackendRejected():
            return "look at the address, at HIVE_MIND_BUS_CREDENTIAL, and at what this identity may do on the broker"
        case BackendThrottled():
            return "the broker has no room: let it be read, or give it more"
        case BackendTimeout():
            return "it takes messages but does not bring them: look whether somebody else reads under this name"
        case _:
            return "look whether the broker runs, and whether this machine may reach it (firewall, port, TLS)"


def _show(report: BusCheck) -> None:
    rows = [("bus", report.bus)]
    if report.connect_ms is not None:
        rows.append(("connect", f"{report.connect_ms:g} ms"))
    if (can := report.capabilities) is not None:
        rows += [
            ("durable subscriptions", _yes(can.is_durable)),
            ("outlives a restart", _yes(can.survives_restart)),
            ("can be watched", _yes(can.can_watch)),
            ("largest message", f"{can.envelope_bytes_max:,} bytes" if can.envelope_bytes_max else "no limit of its own"),
        ]
    if report.subscribe_ms is not None:
        rows.append(("subscribe", f"{report.subscribe_ms:g} ms"))
    if times := report.round_trip_ms:
        rows.append(("to oneself and back", f"median {times['median']:g} ms, worst {times['worst']:g} ms of {_ROUNDS}"))
    show_table(["", ""], rows)
    if report.is_ok:
        show("\nIt works.", style="bold")
    else:
        show(f"\nproblem: {report.problem}", style="bold")
        show(f"what to do: {report.advice}")


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"
