"""The ways in which a notice leaves this machine's process: to a webhook, signed, or to the standard input of a command.

Neither the address of a webhook nor the words of a notice stand in a log or an error: either may be secret.
"""

import asyncio
import hmac
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

from hive_mind.agents.notices import Deliver
from hive_mind.errors import BackendError, BackendThrottled, BackendTimeout, BackendUnavailable, InvalidInput
from hive_mind.retry import RetrySettings, retried
from hive_mind.runtime.settings import SECRETS, environment_with, secret

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
