"""The ways in which a notice leaves this machine's process: to a webhook, signed, or to the standard input of a command.

In a fleet the agent at whose desk people decide sends them, and begins again where its ledger fails for a while.

Neither the address of a webhook nor the words of a notice stand in a log or an error: either may be secret.
"""

import asyncio
import hmac
import logging
import os
import random
import shlex
import signal
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Any

import msgspec

from hive_mind.agents.notices import Deliver, Notices
from hive_mind.errors import BackendError, BackendThrottled, BackendTimeout, BackendUnavailable, HiveError, InvalidInput
from hive_mind.ledger.base import Ledger
from hive_mind.retry import RetrySettings, retried
from hive_mind.runtime.secrets.references import resolved_here
from hive_mind.runtime.settings import SECRETS, Settings, environment_with, secret
from hive_mind.runtime.workers.config import NotifyConfig

ID_HEADER, SIGNATURE_HEADER = "Hive-Mind-Notice", "X-Hub-Signature-256"
ID_VARIABLE = "HIVE_MIND_NOTICE"
_WITHIN_S = 20.0
_TRIES = RetrySettings(attempts_max=3)
_WEBHOOK, _COMMAND = "webhook", "command"


def delivery(notify: str | Sequence[str]) -> Deliver:
    """To a URL, or to a command, given as one line or as its words. Raises `InvalidInput`."""
    if isinstance(notify, str) and notify.startswith(("http://", "https://")):
        if not (key := secret("HOOK_SECRET")):
            raise InvalidInput("a webhook gets signed notices: set HIVE_MIND_HOOK_SECRET to a secret that its receiver knows")
        send: Deliver = partial(_post, notify, key)
    else:
        send = partial(_run, _words(notify))
    rng = random.Random()  # noqa: S311 - spreads retries in time, guards nothing

    async def deliver(id: str, notice: dict[str, Any]) -> None:
        await retried(lambda: send(id, notice), _TRIES, rng=rng)

    return deliver


def signature(key: str, body: bytes) -> str:
    """Of a body, as hooks are signed in both directions."""
    return f"sha256={hmac.new(key.encode(), body, sha256).hexdigest()}"


def _words(notify: str | Sequence[str]) -> Sequence[str]:
    try:
        words = shlex.split(notify) if isinstance(notify, str) else list(notify)
    except ValueError as error:
        raise InvalidInput(f"notify: the command can't be read ({error})") from None
    if not words:
        raise InvalidInput("notify: give the URL of a webhook, or a command")
    return words


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


async def _run(words: Sequence[str], id: str, notice: dict[str, Any]) -> None:
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=_environment(id),
            start_new_session=True,
        )
    except OSError as error:
        raise BackendError(_COMMAND, f"{words[0]} can't be started: {error.strerror}") from None
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


def _environment(id: str) -> dict[str, str]:
    """That of this process without its secrets."""
    secret_names = {f"HIVE_MIND_{name}" for name in SECRETS}
    return {name: value for name, value in environment_with({ID_VARIABLE: id}).items() if name not in secret_names}


REPLIES = "/v1/replies"
"""the path below which replies by link are taken, followed by the agent of the desk and the token"""
_log = logging.getLogger(__name__)
_AGAIN_S = 5.0


class DeskNotices:
    """Of one desk, from `begin` to `close`. Raises `InvalidInput` and `ConfigError` for notices that could go nowhere."""

    def __init__(self, config: NotifyConfig, settings: Settings, agent: str, ledger: Ledger) -> None:
        self._agent = agent
        url, link, *command = (resolved_here(text, home=settings.home) for text in (config.url, config.link, *config.command))
        self.recipient = url or tuple(command)
        link = f"{link.rstrip('/')}{REPLIES}/{agent}" if link else ""
        self.notices = Notices(ledger, delivery(self.recipient), link=link, hours=config.hours)
        self._following: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._following = asyncio.create_task(self._follow(), name=f"notices of {self._agent}")

    async def close(self) -> None:
        """Send nothing more. Closing twice is fine."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])

    async def _follow(self) -> None:
        while True:
            try:
                await self.notices.follow()
                return
            except HiveError as error:
                _log.error("%s: notices can't be sent, tried again: %s", self._agent, error)
                await asyncio.sleep(_AGAIN_S)
