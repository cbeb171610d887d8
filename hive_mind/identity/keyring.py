"""A member's knowledge of keys: its own, those of others as their certificates come by, and those that were revoked.

Certificates and revocations are trusted by the root's signature, not by their sender, so they travel with heartbeats. Strangers
can't fill the memory: only entries that the root signed are kept.
"""

from collections.abc import Iterable, Iterator

from hive_mind.errors import InvalidInput
from hive_mind.identity.certificate import Certificate, Revocations, Revoked, read
from hive_mind.identity.keys import ID_BYTES, SIGNATURE_BYTES, Check, Signer, is_signed

SEAL_BYTES = ID_BYTES + SIGNATURE_BYTES

UNSIGNED = "unsigned"
UNKNOWN = "unknown key"
FORGED = "forged"
EXPIRED = "expired"
REVOKED = "revoked"

# Clocks of honest members differ; a certificate that was issued a moment ago is good on all of them.
_SKEW_MS = 10 * 60 * 1000


class Keyring:
    """Of one process. `own` signs, and `certificate` says that it may; `check` looks at signatures."""

    def __init__(self, root: bytes, own_key: Signer | None = None, certificate: bytes = b"", check: Check = is_signed) -> None:
        self._root, self._own_key, self._check = root, own_key, check
        self.revision = 0
        """Grows with every revocation that comes to be known."""
        self._certificates: dict[bytes, Certificate] = {}
        self._revoked: dict[bytes, int] = {}
        self._statements: dict[bytes, bytes] = {}
        # All of them signed by the root. They come with every beat, and are looked at once.
        self._digests_seen: set[bytes] = set()
        self.certificate, self.revocations = certificate, b""
        if certificate:
            own_certificate = read(root, certificate, Certificate, check)
            if own_key is None or own_certificate.key_id != own_key.id:
                raise InvalidInput("this certificate is of another key: issue a new one, or use the key it was issued for")
            self.learn(certificate)

    @property
    def own(self) -> Certificate | None:
        return self._certificates.get(self._own_key.id) if self._own_key else None

    @property
    def known(self) -> Iterable[bytes]:
        """The certificates of all, as the root signed them."""
        return self._statements.values()

    def seal(self, payload: bytes) -> bytes:
        """Its key's name and signature; b"" where it has none."""
        return self._own_key.id + self._own_key.sign(payload) if self._own_key else b""

    def learn(self, data: bytes) -> bool:
        """Take a certificate in; whether it is new. One that the root did not sign changes nothing."""
        if not data or data in self._digests_seen:
            return False
        try:
            certificate = read(self._root, data, Certificate, self._check)
        except InvalidInput:
            return False
        self._digests_seen.add(data)
        former = self._certificates.get(certificate.key_id)
        # Of two for one key the one that lasts longer: it is the later one.
        if former is not None and former.not_after_ms >= certificate.not_after_ms:
            return False
        self._certificates[certificate.key_id], self._statements[certificate.key_id] = certificate, data
        if self._own_key is not None and certificate.key_id == self._own_key.id:
            self.certificate = data
        return True

    def revoke(self, data: bytes) -> bool:
        """Take revocations in; whether any is new. A list never takes one back."""
        if not data or data in self._digests_seen:
            return False
        try:
            revocations = read(self._root, data, Revocations, self._check)
        except InvalidInput:
            return False
        self._digests_seen.add(data)
        news = list(self._newer(revocations.revoked))
        for new in news:
            self._revoked[new.key_id] = new.since_ms
        self.revision += bool(news)
        if news and len(revocations.revoked) >= len(self._revoked):
            self.revocations = data
        return bool(news)

    def speaks_for(self, seal: bytes, name: str) -> bool:
        """Whether the key of a seal may say things under this name."""
        certificate = self._certificates.get(seal[:ID_BYTES])
        return certificate is not None and certificate.speaks_for(name)

    def is_revoked(self, seal: bytes, at_ms: int) -> bool:
        """Whether the key of a seal is revoked for what it stamped then."""
        since_ms = self._revoked.get(seal[:ID_BYTES]) if self._revoked else None
        return since_ms is not None and at_ms >= since_ms

    def refusal(self, name: str, payload: bytes, seal: bytes, at_ms: int | None, *, is_present: bool) -> str:
        """Why it is not believed that `name` says this: one of the words above, or "" where it is.

        `at_ms` is when, None where that is unknown. `is_present`: it is said now. Statements stamped before a key was revoked, or
        its certificate expired, stay; present ones under such a key are refused.
        """
        if not seal:
            return UNSIGNED
        key = seal[:ID_BYTES]
        certificate = self._certificates.get(key)
        if certificate is None or len(seal) != SEAL_BYTES:
            return UNKNOWN
        if not certificate.speaks_for(name) or not self._check(certificate.public, payload, seal[ID_BYTES:]):
            return FORGED
        if (since_ms := self._revoked.get(key)) is not None and (is_present or at_ms is None or at_ms >= since_ms):
            return REVOKED
        is_valid = at_ms is None or certificate.not_before_ms - _SKEW_MS <= at_ms <= certificate.not_after_ms + _SKEW_MS
        return "" if is_valid else EXPIRED

    def _newer(self, revoked: Iterable[Revoked]) -> Iterator[Revoked]:
        """Those that say more than is known: a key, or an earlier time."""
        for revocation in revoked:
            former = self._revoked.get(revocation.key_id)
            if former is None or revocation.since_ms < former:
                yield revocation
