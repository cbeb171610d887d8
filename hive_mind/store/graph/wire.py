"""What goes between an agent's process and the graph's: length, then MessagePack, over the child's standard input and output."""

from typing import Any

import msgspec

LENGTH_BYTES = 4


class Question(msgspec.Struct, tag=True):
    """To the child. `anew` says why it should not trust the graph it finds, "" for no reason."""

    name: str
    arguments: dict[str, Any]
    anew: str = ""


class Progress(msgspec.Struct, tag=True):
    """The graph is being made."""

    done: int
    total: int
    what: str


class Notice(msgspec.Struct, tag=True):
    """Something a person should know."""

    text: str


class Begun(msgspec.Struct, tag=True):
    """The graph is ready; the question itself is under way."""


class Answer(msgspec.Struct, tag=True):
    """What was asked for."""

    value: msgspec.Raw


class Refused(msgspec.Struct, tag=True):
    """There is none. `error` is the name of an error of ours."""

    error: str
    message: str


Reply = Progress | Notice | Begun | Answer | Refused

_encoder = msgspec.msgpack.Encoder()
_questions, _replies = msgspec.msgpack.Decoder(Question), msgspec.msgpack.Decoder(Reply)


def framed(message: Question | Reply) -> bytes:
    """A message as it goes over the pipe."""
    body = _encoder.encode(message)
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def question_in(body: bytes) -> Question:
    """A question that arrived."""
    return _questions.decode(body)


def reply_in(body: bytes) -> Reply:
    """A reply that arrived."""
    reply: Reply = _replies.decode(body)
    return reply
