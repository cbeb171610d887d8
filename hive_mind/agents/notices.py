"""Notices: each item for which a run waits is sent to people, once, however often the process is killed.

A notice is sent first and noted then, in a stream of the item's name, so a kill between the two sends it again: it is marked with
the id of its item, and its recipient can tell. One that could not be sent is sent again as long as the item waits.

It leaves this machine's process to a webhook, signed, or to the standard input of a command. Neither the address of a webhook nor
the words of a notice stand in a log or an error: either may be secret.

A notice may bring links by which somebody replies: a token for one decision on one item, until a certain time, made with a secret
of the ledger where it lies. A token is of use once: an item that is decided, or was opened again since, takes none that was made
before. It stands in no journal and in no log: anybody who has one may reply, so it goes where its notice goes and nowhere else.
"""

import asyncio
import hmac
import logging
import os
import random
import shlex
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from hashlib import sha256
from typing import Any, Literal, get_args

import msgspec

from hive_mind.agents.desk import LedgerDesk, key_of
from hive_mind.clocks import wall_clock_ms
from hive_mind.errors import BackendError, BackendThrottled, BackendTimeout, BackendUnavailable, InvalidInput, reason_of
from hive_mind.judge.items import OPENED, REPLY_HOURS, Decision, Item, ItemView
from hive_mind.judge.items import PREFIX as ITEMS
from hive_mind.judge.judgment import JudgmentAction
from hive_mind.ledger import Ledger
from hive_mind.model.entry import Entry
from hive_mind.retry import RetrySettings, retried

KEY = "reply/key"
"""of the stream that has the secret"""
How = Literal["approve", "reject", "answer"]


class TokenRefused(InvalidInput):
    """It is no token of ours, or of no use any more: `is_over`."""

    def __init__(self, why: str, *, is_over: bool) -> None:
        super().__init__(why)
        self.is_over = is_over


@dataclass(frozen=True, slots=True)
class Reply:
    """A decision that may be taken. `former` is how often the item was decided and opened again before."""

    item: str
    how: How
    former: int
    expires_ms: int


def ways(item: Item) -> Sequence[How]:
    """The replies that make sense for an item."""
    return ("answer", "reject") if item.kind == "question" else ("approve", "reject")


def token_of(key: str, reply: Reply) -> str:
    """Plain characters of a path."""
    body = f"{reply.item}.{reply.how}.{reply.former}.{reply.expires_ms}"
    return f"{body}.{_seal(key, body)}"


def reply_of(key: str, token: str) -> Reply:
    """The reply that a token is for. Raises `TokenRefused` for one that was not made with this key."""
    body, _, seal = token.rpartition(".")
    parts = body.split(".")
    is_ours = hmac.compare_digest(_seal(key, body).encode(), seal.encode("utf-8", "replace"))
    if not is_ours or len(parts) != 4 or parts[1] not in get_args(How):
        raise TokenRefused("this link is not one of ours: open it as it was sent", is_over=False)
    item, how, former, expires_ms = parts
    return Reply(item, how, int(former), int(expires_ms))  # type: ignore[arg-type]


def refuse_over(reply: Reply, view: ItemView | None, now_ms: int) -> ItemView:
    """The item, while the reply is of use. Raises `TokenRefused`."""
    if now_ms >= reply.expires_ms:
        raise TokenRefused("this link has expired: decide with hive-mind inbox, or on the console", is_over=True)
    if view is None or not view.is_open or len(view.former) != reply.former:
        raise over()
    return view


def over() -> TokenRefused:
    """The error for an item that waits for nobody now."""
    return TokenRefused("this was decided already, or is not asked any more", is_over=True)


def decision_of(reply: Reply, by: str, because: str, text: str) -> Decision:
    """Raises `InvalidInput` for an answer without a text."""
    if reply.how == "answer" and not text.strip():
        raise InvalidInput("there is no answer: write one")
    action = JudgmentAction.ESCALATE if reply.how == "reject" else JudgmentAction.ACCEPT
    edit = text.strip() if reply.how == "answer" else None
    return Decision(item=reply.item, action=action, by=by, because=because, edit=edit)


def _seal(key: str, body: str) -> str:
    return hmac.new(key.encode(), body.encode("utf-8", "replace"), sha256).hexdigest()


_log = logging.getLogger(__name__)

SENT = "notice/"
"""of the streams that say of an item that its notice was sent"""
KINDS = ("judgment", "tool", "question")
"""of the items that runs lay down"""
_AGAIN_S, _AGAIN_MAX_S = 5.0, 300.0

Deliver = Callable[[str, dict[str, Any]], Awaitable[None]]
"""gets the id and the notice as JSON; raises `BackendError` where nobody got it"""

REPLIES = "/v1/replies"
"""the path below which replies by link are taken, followed by the agent of the desk and the token"""
ID_HEADER, SIGNATURE_HEADER = "Hive-Mind-Notice", "X-Hub-Signature-256"
ID_VARIABLE = "HIVE_MIND_NOTICE"
_WITHIN_S = 20.0
_TRIES = RetrySettings(attempts_max=3)
_WEBHOOK, _COMMAND = "webhook", "command"


class Notices:
    """Of one ledger, which stays its owner's. `link`: where replies are taken, up to the token; "" for nowhere."""

    def __init__(
        self,
        ledger: Ledger,
        deliver: Deliver,
        *,
        link: str = "",
        hours: float = REPLY_HOURS,
        clock_ms: Callable[[], int] = wall_clock_ms,
    ) -> None:
        self._ledger, self._deliver, self.link, self.hours, self._clock_ms = ledger, deliver, link, hours, clock_ms
        self._desk = LedgerDesk(ledger, clock_ms=clock_ms)
        self._turn = asyncio.Lock()
        # Items whose notice met silence the last time.
        self._unheard: set[str] = set()

    async def send_due(self) -> int:
        """Send the notice of each item of a run that waits and has none; the number that could not be sent.

        A receiver that is silent on one would be on the next, too: the others wait for the next call. That begins with them, for
        it may be this one notice. Raises what a ledger raises.
        """
        async with self._turn:
            waiting = [view for view in await self._desk.open() if view.item.kind in KINDS]
            due = [view for view in waiting if not await self._ledger.read(SENT + view.item.id)]
            due.sort(key=lambda view: view.item.id in self._unheard)
            failed = 0
            for number, view in enumerate(due):
                failed += not await self._sent(view)
                if view.item.id in self._unheard:
                    return failed + len(due) - number - 1
            return failed

    async def _sent(self, view: ItemView) -> bool:
        self._unheard.discard(view.item.id)
        try:
            await self._deliver(view.item.id, await self._notice(view))
        except BackendError as error:
            if isinstance(error, BackendTimeout):
                self._unheard.add(view.item.id)
            _log.warning("item %s waits, and its notice could not be sent; tried again: %s", view.item.id[:8], error)
            return False
        # False where another process has sent one, too.
        await self._ledger.append(SENT + view.item.id, 0, [Entry("sent", b"{}", self._clock_ms())])
        return True

    async def follow(self) -> None:
        """Tell of what waits, and of what will, until it is cancelled. Raises what a ledger raises."""
        since = max((head.pos for head in await self._ledger.heads("")), default=0)
        opened, again_s = asyncio.Event(), _AGAIN_S
        looking = asyncio.create_task(self._look(since, opened), name="items that are laid down")
        try:
            while not looking.done():
                opened.clear()
                failed = await self.send_due()
                again_s = min(again_s * 2, _AGAIN_MAX_S) if failed else _AGAIN_S
                with suppress(TimeoutError):
                    async with asyncio.timeout(again_s if failed else None):
                        await opened.wait()
            looking.result()
        finally:
            looking.cancel()
            await asyncio.wait([looking])

    async def _look(self, since: int, opened: asyncio.Event) -> None:
        try:
            async for entry in self._ledger.follow(since, ITEMS):
                if entry.kind == OPENED:
                    opened.set()
        finally:
            opened.set()

    async def _notice(self, view: ItemView) -> dict[str, Any]:
        item, expires_ms = view.item, self._clock_ms() + round(timedelta(hours=self.hours).total_seconds() * 1_000)
        notice = {
            "id": item.id,
            "kind": item.kind,
            "agent": item.agent,
            "run": item.subject.partition("/")[0],
            "title": item.title,
            "opened_ms": item.opened_ms,
            "context": dict(item.context),
            "signals": msgspec.to_builtins(item.signals),
        }
        if not self.link:
            return notice
        key = await key_of(self._ledger, KEY, self._clock_ms())
        tokens = {way: token_of(key, Reply(item.id, way, len(view.former), expires_ms)) for way in ways(item)}
        return {**notice, "expires_ms": expires_ms, "replies": {way: f"{self.link}/{token}" for way, token in tokens.items()}}


def delivery(notify: str | Sequence[str], key: str, environment: Mapping[str, str]) -> Deliver:
    """To a URL, signed with this key, or to a command, given as one line or as its words. Raises `InvalidInput`."""
    if isinstance(notify, str) and notify.startswith(("http://", "https://")):
        if not key:
            raise InvalidInput("a webhook gets signed notices: set HIVE_MIND_HOOK_SECRET to a secret that its receiver knows")
        send: Deliver = partial(_post, notify, key)
    else:
        try:
            words = shlex.split(notify) if isinstance(notify, str) else list(notify)
        except ValueError as error:
            raise InvalidInput(f"notify: the command can't be read ({error})") from None
        if not words:
            raise InvalidInput("notify: give the URL of a webhook, or a command")
        send = partial(_run, words, environment)
    rng = random.Random()  # noqa: S311 - spreads retries in time, guards nothing

    async def deliver(id: str, notice: dict[str, Any]) -> None:
        await retried(lambda: send(id, notice), _TRIES, rng=rng)

    return deliver


def signature(key: str, body: bytes) -> str:
    """Of a body, as hooks are signed in both directions."""
    return f"sha256={hmac.new(key.encode(), body, sha256).hexdigest()}"


async def _post(url: str, key: str, id: str, notice: dict[str, Any]) -> None:
    import aiohttp

    body = msgspec.json.encode(notice)
    headers = {
        "Content-Type": "application/json",
        ID_HEADER: id,
        "Idempotency-Key": id,
        SIGNATURE_HEADER: signature(key, body),
    }
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_WITHIN_S)) as session,
            session.post(url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            status = response.status
    except TimeoutError:
        raise BackendTimeout(_WEBHOOK, f"no reply within {_WITHIN_S:g} s") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise BackendUnavailable(_WEBHOOK, f"it can't be reached ({type(error).__name__})") from None
    if status == 429:
        raise BackendThrottled(_WEBHOOK, "it answers 429")
    if status >= 500:
        raise BackendUnavailable(_WEBHOOK, f"it answers {status}")
    if status >= 300:
        raise BackendError(_WEBHOOK, f"it refuses the notice with {status}")


async def _run(words: Sequence[str], environment: Mapping[str, str], id: str, notice: dict[str, Any]) -> None:
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env={**environment, ID_VARIABLE: id},
            start_new_session=True,
        )
    except OSError as error:
        raise BackendError(_COMMAND, f"{words[0]} can't be started: {reason_of(error)}") from None
    try:
        async with asyncio.timeout(_WITHIN_S):
            with suppress(ConnectionError):
                await process.communicate(msgspec.json.encode(notice))
    except TimeoutError:
        raise BackendTimeout(_COMMAND, f"{words[0]} did not end within {_WITHIN_S:g} s") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode:
        raise BackendUnavailable(_COMMAND, f"{words[0]} ended with {process.returncode}")
