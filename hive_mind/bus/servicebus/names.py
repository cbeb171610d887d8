"""How hives and nodes are called on Service Bus: labels, subscriptions, targets.

A subscription is called `<hive>.<node>`; a message says in its property `target` whether it is for `<hive>.<node>` or, as
`<hive>.*`, for everyone in the hive. So two correlation filters per subscription are enough, and hives share a topic unseen.
Entities have at most 50 characters, and upper and lower case are the same there: what does not fit gets a label with a hash.
"""

import hashlib
import re

from hive_mind.bus.base import EVERYONE, Key
from hive_mind.regex import regex

TARGET = "target"
"""The property that filters look at."""

_PLAIN = regex(r"[a-z0-9](?:[a-z0-9_]|-(?!-))*")
_CHARS_MAX = 24
_SLUG_CHARS = 6
_MESSAGE_ID_CHARS_MAX = 128


def label_of(name: str) -> str:
    """A name as it is where it can be, else its beginning and a hash behind two dashes, which no name is let to have itself."""
    if len(name) <= _CHARS_MAX and _PLAIN.fullmatch(name) and name[-1] not in "-_":
        return name
    slug = re.sub(r"[^a-z0-9]", "", name.lower(), flags=re.ASCII)[:_SLUG_CHARS] or "x"
    return f"{slug}--{_digest(name)[: _CHARS_MAX - 2 - len(slug)]}"


def subscription_of(hive: str, name: str) -> str:
    """The subscription of a node, and the target that reaches it alone."""
    return f"{label_of(hive)}.{label_of(name)}"


def target_of(hive: str, name: str) -> str:
    """The target that reaches a node, or everyone."""
    return f"{label_of(hive)}.{EVERYONE[0]}" if name == EVERYONE[0] else subscription_of(hive, name)


def target_of_all(subscription: str) -> str:
    """The target that reaches everyone in the hive of a subscription."""
    return f"{subscription.partition('.')[0]}.{EVERYONE[0]}"


def name_of(hive: str, subscription: str) -> str | None:
    """The node of a subscription, as far as its label tells; None for one of another hive."""
    its_hive, _, name = subscription.partition(".")
    return name if name and its_hive == label_of(hive) else None


def message_id_of(hive: str, key: Key, target: str) -> str:
    """The same for the same envelope and target, so that the broker's duplicate detection drops what is sent again."""
    plain = f"{label_of(hive)}/{'/'.join(filter(None, key))}/{target}"
    return plain if len(plain) <= _MESSAGE_ID_CHARS_MAX else _digest("\0".join((hive, *key, target)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
