"""Replies by link: a token for one decision on one item, until a certain time, made with a secret of the ledger where it lies.

A token is of use once: an item that is decided, or was opened again since, takes none that was made before. It stands in no
journal and in no log: anybody who has one may reply, so it goes where its notice goes and nowhere else.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, get_args

from hive_mind.errors import InvalidInput
from hive_mind.judge.items import Decision, Item, ItemView
from hive_mind.judge.judgment import JudgmentAction

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
