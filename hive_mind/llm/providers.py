"""Real language models, reached through pydantic-ai's direct requests: one request, one reply, no agent loop of its own.

Gives: every provider pydantic-ai knows ("openai:…", "anthropic:…", …) and every server that speaks OpenAI's chat completions
(give its address), conversations with tools, what is said as it comes. Does not give: retries (the caller has a budget, so there
is one place that repeats).

A conversation is put in pydantic-ai's words, and its reply in ours.
"""

import asyncio
import json
import logging
import re
from dataclasses import replace
from itertools import groupby
from typing import Protocol

import openai
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import AgentRunError, ModelHTTPError, UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from hive_mind.clocks import NOTICE_EVERY_S, NOTICE_FIRST_S
from hive_mind.errors import (
    BackendError,
    BackendRejected,
    BackendThrottled,
    BackendTimeout,
    BackendUnavailable,
    BackendUnreachable,
    ConfigError,
    HiveError,
    InvalidInput,
)
from hive_mind.installation import command_for_package
from hive_mind.llm.base import Completion, OnText, Prompt, Usage
from hive_mind.model.content import Arguments, Message, Reply, ToolCall, Turn

UNREADABLE = "unreadable_json"
"""The name under which arguments come that are no JSON object."""


def sendable(text: str) -> str:
    """Half a surrogate pair, as broken files hold them, can't be sent as UTF-8; "?" stands in."""
    return text.encode("utf-8", "replace").decode("utf-8")


def text_of(response: ModelResponse) -> str:
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def parameters_of(turn: Turn) -> ModelRequestParameters:
    """The tools; where one has to be called, no text is allowed instead."""
    tools = [
        ToolDefinition(name=_sent(tool.name), description=tool.description, parameters_json_schema=dict(tool.parameters))
        for tool in turn.tools
    ]
    if turn.must_call:
        return ModelRequestParameters(output_tools=tools, output_mode="tool", allow_text_output=False)
    return ModelRequestParameters(function_tools=tools)


def _said(message: Message) -> list[TextPart | ToolCallPart]:
    text = [TextPart(sendable(message.text))] if message.text or not message.calls else []
    return [*text, *(ToolCallPart(_sent(call.name), _json(call.arguments), tool_call_id=call.id) for call in message.calls)]


def _json(arguments: Arguments) -> str:
    return sendable(json.dumps(arguments, ensure_ascii=False, default=str))


def _given(message: Message) -> UserPromptPart | ToolReturnPart:
    if message.role == "user":
        return UserPromptPart(sendable(message.text))
    part = ToolReturnPart(_sent(message.name), sendable(message.text), tool_call_id=message.call)
    return replace(part, outcome="failed") if message.is_error else part


def _arguments(part: ToolCallPart) -> Arguments:
    try:
        arguments = part.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return {UNREADABLE: str(part.args)}
    return arguments if isinstance(arguments, dict) else {UNREADABLE: str(part.args)}


def _sent(name: str) -> str:
    """Providers take at most 64 letters, digits, dashes and underscores, also of a tool that a model made up."""
    spelled = name.replace(":", "__c__").replace("/", "__s__").replace(".", "__d__")
    return re.sub("[^A-Za-z0-9_-]", "_", spelled)[:64] or "_"


_log = logging.getLogger(__name__)

_OPENAI = frozenset(("openai", "openai-chat"))

# OpenAI sends these with 429 as well, but waiting changes nothing: somebody has to pay.
_QUOTA_CODES = frozenset(("insufficient_quota", "billing_hard_limit_reached"))

# The key that is sent where the client needs one and the server does not.
_NO_KEY = "none"


# A long reply may be streamed for as long as it goes on, but not for ever.
_STREAM_TIMES = 10

_MORE_TIME = "for a slow model allow more time: HIVE_MIND_LLM_TIMEOUT_S, or llm.timeoutS of a manifest"


class _Closable(Protocol):
    async def close(self) -> None: ...


class _Waiting:
    """Says in the log that a model is being waited for: once for all the requests that are under way together."""

    def __init__(self, name: str, timeout_s: float) -> None:
        self.name, self._timeout_s = name, timeout_s
        self._count, self._since_s = 0, 0.0
        self._notice: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> None:
        self._count += 1
        if self._count == 1:
            self._since_s = asyncio.get_running_loop().time()
            self._notice = asyncio.get_running_loop().call_later(NOTICE_FIRST_S, self._say)

    async def __aexit__(self, *_: object) -> None:
        self._count -= 1
        if self._notice and not self._count:
            self._notice.cancel()

    def _say(self) -> None:
        loop = asyncio.get_running_loop()
        waited_s = loop.time() - self._since_s
        _log.info("waiting for %s for %.0f s; a reply may take %g s: %s", self.name, waited_s, self._timeout_s, _MORE_TIME)
        self._notice = loop.call_later(NOTICE_EVERY_S, self._say)


async def open(name: str, *, base_url: str = "", api_key: str = "", timeout_s: float = 60.0) -> "ProviderModel":
    """A model by its name, "provider:model".

    `base_url` is the address of a server that speaks OpenAI's API (up to and with "/v1"); it is sent `api_key` and never a key
    from the environment. Without `base_url` the provider's client finds its key where it always does (OPENAI_API_KEY, …).
    Raises `InvalidInput` for a malformed name and `ConfigError` when a key or a client package is missing.
    """
    provider, colon, model = name.partition(":")
    if not (provider and colon and model):
        raise InvalidInput(f'a language model is named "provider:model", for example "openai:gpt-5-mini", not {name!r}')
    if base_url and provider not in _OPENAI:
        raise InvalidInput(f'an address needs a model named "openai:…" (the protocol it speaks), not {name!r}')
    try:
        if provider in _OPENAI:
            key = api_key or (_NO_KEY if base_url else None)
            client = openai.AsyncOpenAI(base_url=base_url or None, api_key=key, timeout=timeout_s, max_retries=0)
            return ProviderModel(name, OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client)), timeout_s, client)
        return ProviderModel(name, infer_model(name), timeout_s)
    except openai.OpenAIError:
        # All that can be missing here; the client's own words name settings of its own that do not exist here.
        raise ConfigError(f"language model {name!r} needs a key: set OPENAI_API_KEY, or HIVE_MIND_LLM_KEY") from None
    except UserError as error:
        raise ConfigError(f"language model {name!r} can't be opened: {_first_line(error)}") from None
    except ImportError as error:
        raise ConfigError(
            f"language model {name!r} needs its provider's client: {command_for_package(f'pydantic-ai-slim[{provider}]')}"
        ) from error


class ProviderModel:
    """Implements `LanguageModel`. Holds connections; close it."""

    def __init__(self, name: str, model: Model, timeout_s: float, client: _Closable | None = None) -> None:
        self.name, self._model, self._timeout_s, self._client = name, model, timeout_s, client
        self._waiting = _Waiting(name, timeout_s)

    async def complete(self, prompt: Prompt) -> Completion:
        """One request. The time limit covers all of it, a reply that trickles in included."""
        request = ModelRequest.user_text_prompt(sendable(prompt.text), instructions=sendable(prompt.instructions))
        response = await self._request([request], ModelRequestParameters(), prompt.max_output_tokens)
        return Completion(text_of(response), Usage(response.usage.input_tokens, response.usage.output_tokens, 1))

    async def converse(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        """One turn. Arguments that are no JSON object come as they are, under one name, so that their tool refuses them.

        With `on_text` the time limit is for each piece, and ten times as long for all of them.
        """
        # Messages between two replies are one request, as some providers demand.
        conversation: list[ModelMessage] = []
        for is_reply, messages in groupby(turn.messages, lambda message: message.role == "assistant"):
            if is_reply:
                conversation += [ModelResponse(parts=_said(message)) for message in messages]
            else:
                conversation.append(ModelRequest(parts=[_given(message) for message in messages]))
        instructions = sendable(turn.instructions)
        for request in conversation:
            if isinstance(request, ModelRequest):
                request.instructions = instructions
        response = await self._request(conversation, parameters_of(turn), turn.max_output_tokens, on_text)
        names = {_sent(tool.name): tool.name for tool in turn.tools}
        calls = tuple(
            ToolCall(part.tool_call_id, names.get(part.tool_name, part.tool_name), _arguments(part))
            for part in response.parts
            if isinstance(part, ToolCallPart)
        )
        return Reply(text_of(response), calls, response.usage.input_tokens, response.usage.output_tokens)

    async def _request(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters, most: int, on_text: OnText | None = None
    ) -> ModelResponse:
        settings = ModelSettings(max_tokens=most, timeout=self._timeout_s)
        clock_s = asyncio.get_running_loop().time
        latest_s = clock_s() + _STREAM_TIMES * self._timeout_s
        try:
            async with asyncio.timeout(self._timeout_s) as patience, self._waiting:
                if on_text is None:
                    return await model_request(
                        self._model, messages, model_settings=settings, model_request_parameters=parameters
                    )
                opening = model_request_stream(
                    self._model, messages, model_settings=settings, model_request_parameters=parameters
                )
                async with opening as stream:
                    try:
                        async for event in stream:
                            # Whether it is text or not.
                            patience.reschedule(min(clock_s() + self._timeout_s, latest_s))
                            if text := _text_in(event):
                                on_text(text)
                    except (AgentRunError, TimeoutError):
                        raise
                    # Each provider's client has errors of its own for a connection that ends.
                    except Exception as error:
                        raise _broke_off(self.name) from error
                    response = stream.get()
                    # Where a server does not say that it has ended, its client takes "stop" for granted.
                    usual = response.finish_reason if self._client is None else None
                    if not (response.provider_details or {}).get("finish_reason", usual):
                        raise _broke_off(self.name)
                    return response
        except TimeoutError as error:
            raise self._timed_out() from error
        except HiveError:
            raise
        # A client breaks in many ways on a reply that is no such reply: an IndexError where it has no choices.
        except Exception as error:
            raise self._translated(error) from error

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            return
        # Entering and leaving is how a provider that made its own client is told to close it.
        async with self._model:
            pass

    def __repr__(self) -> str:
        return f"ProviderModel({self.name!r})"

    def _timed_out(self) -> BackendTimeout:
        return BackendTimeout(self.name, f"no complete reply within {self._timeout_s:g} s; {_MORE_TIME}")

    def _translated(self, error: Exception) -> BackendError:
        if isinstance(error, ModelHTTPError):
            # By status. The body stays out of the message: servers like to repeat the key they were given.
            status, code = error.status_code, _code_of(error.body)
            trouble = f"HTTP {status}" + (f" ({code})" if code else "")
            if status == 429 and code not in _QUOTA_CODES:
                return BackendThrottled(
                    self.name, f"{trouble}: too many requests; wait or use fewer at a time", _retry_after_s(error)
                )
            if status in (408, 504):
                return BackendTimeout(self.name, f"{trouble}: the provider gave up waiting; try again")
            if status >= 500:
                return BackendUnavailable(self.name, f"{trouble}: the provider failed; try again later")
            return BackendRejected(self.name, f"{trouble}: {_ADVICE.get(status, 'the provider refused the request')}")
        if isinstance(error.__cause__, openai.APITimeoutError):
            return self._timed_out()
        if isinstance(error.__cause__, openai.APIConnectionError):
            # By its name: clients come with one HTTP library or another, and all call it so.
            if type(error.__cause__.__cause__).__name__ == "ConnectError":
                return BackendUnreachable(self.name, "can't be reached; check the address and the network")
            return BackendUnavailable(self.name, "closed the connection; check the address and the network")
        return BackendUnavailable(
            self.name, f"the reply could not be read ({type(error).__name__}); is this a chat completions API?"
        )


_ADVICE = {
    400: "the provider can't take this request; check the model's limits",
    401: "the API key is missing or wrong",
    402: "the account has no credit left",
    403: "the API key may not use this model",
    404: "there is no such model or address; check both",
    413: "the prompt is too long for this model",
    429: "the account's quota is used up",
}


def _code_of(body: object) -> str:
    """A provider's short error code, such as "insufficient_quota"; "" for anything longer, which may be prose."""
    code = body.get("code") if isinstance(body, dict) else None
    return code if isinstance(code, str) and code.replace("_", "").isalnum() and len(code) <= 40 else ""


def _retry_after_s(error: ModelHTTPError) -> float | None:
    cause = error.__cause__
    header = cause.response.headers.get("retry-after", "") if isinstance(cause, openai.APIStatusError) else ""
    try:
        seconds = float(header)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _text_in(event: ModelResponseStreamEvent) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _broke_off(name: str) -> BackendUnavailable:
    return BackendUnavailable(name, "the reply broke off before its end; try again")
