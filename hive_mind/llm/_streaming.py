"""What a model says, told piece by piece as it comes."""

from contextlib import AbstractAsyncContextManager

from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import StreamedResponse

from hive_mind.errors import BackendUnavailable
from hive_mind.llm.base import OnText


async def heard(
    asked: AbstractAsyncContextManager[StreamedResponse], on_text: OnText, name: str, *, is_openai: bool
) -> ModelResponse:
    """The whole response, once its text has been streamed. Raises like a request; `BackendUnavailable` where it broke off."""
    async with asked as stream:
        try:
            async for event in stream:
                if text := _text_in(event):
                    on_text(text)
        except (AgentRunError, TimeoutError):
            raise
        # Each provider's client has errors of its own for a connection that ends.
        except Exception as error:
            raise _broke_off(name) from error
        response = stream.get()
        # Where a server does not say that it has ended, its client takes "stop" for granted.
        if not (response.provider_details or {}).get("finish_reason", None if is_openai else response.finish_reason):
            raise _broke_off(name)
        return response


def _text_in(event: ModelResponseStreamEvent) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _broke_off(name: str) -> BackendUnavailable:
    return BackendUnavailable(name, "the reply broke off before its end; try again")
