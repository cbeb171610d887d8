"""A conversation in pydantic-ai's words, and its reply in ours."""

import json
import re
from dataclasses import replace
from itertools import groupby

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from hive_mind.model.dialogue import Arguments, Message, Reply, ToolCall, Turn

UNREADABLE = "unreadable_json"
"""The name under which arguments come that are no JSON object."""


def sendable(text: str) -> str:
    """Half a surrogate pair, as broken files hold them, can't be sent as UTF-8; "?" stands in."""
    return text.encode("utf-8", "replace").decode("utf-8")


def text_of(response: ModelResponse) -> str:
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def conversation_of(turn: Turn) -> list[ModelMessage]:
    """Its messages; what stands together between two replies is one request, as some providers demand."""
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
    return conversation


def parameters_of(turn: Turn) -> ModelRequestParameters:
    """The tools; where one has to be called, no text is allowed instead."""
    tools = [
        ToolDefinition(name=_sent(one.name), description=one.description, parameters_json_schema=dict(one.parameters))
        for one in turn.tools
    ]
    if turn.must_call:
        return ModelRequestParameters(output_tools=tools, output_mode="tool", allow_text_output=False)
    return ModelRequestParameters(function_tools=tools)


def reply_of(response: ModelResponse, turn: Turn) -> Reply:
    """The reply of a response, with the names that the tools of the turn have here."""
    names = {_sent(one.name): one.name for one in turn.tools}
    calls = tuple(
        ToolCall(part.tool_call_id, names.get(part.tool_name, part.tool_name), _arguments(part))
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )
    return Reply(text_of(response), calls, response.usage.input_tokens, response.usage.output_tokens)


def _said(message: Message) -> list[TextPart | ToolCallPart]:
    text = [TextPart(sendable(message.text))] if message.text or not message.calls else []
    return [*text, *(ToolCallPart(_sent(one.name), _json(one.arguments), tool_call_id=one.id) for one in message.calls)]


def _json(arguments: Arguments) -> str:
    return sendable(json.dumps(arguments, ensure_ascii=False, default=str))


def _given(message: Message) -> UserPromptPart | ToolReturnPart:
    if message.role == "user":
        return UserPromptPart(sendable(message.text))
    part = ToolReturnPart(_sent(message.name), sendable(message.text), tool_call_id=message.call)
    return replace(part, outcome="failed") if message.is_error else part


def _arguments(part: ToolCallPart) -> Arguments:
    try:
        found = part.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return {UNREADABLE: str(part.args)}
    return found if isinstance(found, dict) else {UNREADABLE: str(part.args)}


def _sent(name: str) -> str:
    """Providers take at most 64 letters, digits, dashes and underscores, also of a tool that a model made up."""
    spelled = name.replace(":", "__c__").replace("/", "__s__").replace(".", "__d__")
    return re.sub("[^A-Za-z0-9_-]", "_", spelled)[:64] or "_"
