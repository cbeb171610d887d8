"""Authorisation: shared access signatures, checked as the service checks them.

A signature is an HMAC over a resource and an expiry; it opens the resource and all paths below. It says nothing of senders and
listeners: every key of this broker may do both.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote_plus

from hive_mind.devbroker.amqp.error import AmqpError
from hive_mind.devbroker.amqp.link import address_path

_SAS = "SharedAccessSignature "
_MANAGEMENT = "$management"

# A web token is taken at its word; its own expiry is not read.
_JWT_LIFE_S = 3600.0


@dataclass(frozen=True)
class Keys:
    """Names of keys and the keys, and the one web token that is let in, if any."""

    by_name: Mapping[str, str]
    jwt: str | None = None

    def __repr__(self) -> str:
        return f"Keys({', '.join(self.by_name)})"

    def is_login(self, name: str, key: str) -> bool:
        known = self.by_name.get(name)
        return known is not None and hmac.compare_digest(known.encode(), key.encode())

    def check(self, token: str, audience: str, now: float) -> tuple[str, float]:
        """The path, in lower case, that a token opens, and until when. Raises `AmqpError`."""
        path = audience_path(audience)
        # One client calls its signatures "jwt", so the token itself tells what it is.
        if token.startswith(_SAS):
            return path, self._check_signature(token.removeprefix(_SAS), path, now)
        if self.jwt is not None and hmac.compare_digest(token.encode(), self.jwt.encode()):
            return path, now + _JWT_LIFE_S
        raise _refused("InvalidToken: neither a valid signature nor the web token of this broker")

    def _check_signature(self, token: str, path: str, now: float) -> float:
        parts = dict(part.partition("=")[::2] for part in token.split("&"))
        resource, expiry = parts.get("sr", ""), parts.get("se", "")
        key = self.by_name.get(unquote_plus(parts.get("skn", "")))
        if key is None:
            raise _refused("InvalidSignature: there is no key of that name")
        if not hmac.compare_digest(_signature(key, resource, expiry), unquote_plus(parts.get("sig", "")).encode()):
            raise _refused("InvalidSignature: the token has an invalid signature")
        if not (expiry.isascii() and expiry.isdigit()) or int(expiry[:12]) < now:
            raise _refused("ExpiredToken: the token is expired")
        if not is_within(path, audience_path(unquote_plus(resource))):
            raise _refused("InvalidAudience: the token is for another resource")
        return float(expiry[:12])


def audience_path(audience: str) -> str:
    """The entity that an audience means, in lower case; "" is the whole namespace."""
    return address_path(audience).lower().removesuffix(_MANAGEMENT).rstrip("/")


def is_within(path: str, resource: str) -> bool:
    """Whether a path is a resource, or lies below it."""
    return not resource or path == resource or path.startswith(f"{resource}/")


def _signature(key: str, resource: str, expiry: str) -> bytes:
    return base64.b64encode(hmac.new(key.encode(), f"{resource}\n{expiry}".encode(), hashlib.sha256).digest())


def _refused(description: str) -> AmqpError:
    return AmqpError("com.microsoft:auth-failed", description)
