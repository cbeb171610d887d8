"""A member's knowledge of keys, and statements that are sealed by them: `hive.policy.seal.Seal` with signatures.

Its own key, those of others as their certificates come by, and those that were revoked. Certificates and revocations are trusted
by the root's signature, not by their sender, so they travel with heartbeats. Strangers can't fill the memory: only entries that
the root signed are kept.

A seal binds the hive besides the fields that `hive.policy.seal` puts under it, so a statement in one hive is void in another, and
in the next generation of the same.
"""

from collections.abc import Iterable, Iterator

from hive_mind.errors import InvalidInput
from hive_mind.identity.keys import ID_BYTES, SIGNATURE_BYTES, Certificate, Check, Revocations, Revoked, Signer, is_signed, read

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


class KeySeal:
    """Of one node of one hive. `is_required` is False while a fleet gets used to it: statements without a seal are believed
    then."""

    is_on = True

    def __init__(self, keyring: Keyring, hive: str, *, is_required: bool) -> None:
        self._keyring, self._is_required = keyring, is_required
        self._domain = b"hive-mind/seal/1/" + hive.encode("utf-8", "replace") + b"\0"

    @property
    def since_ms(self) -> int:
        """The beginning of its own certificate; 0 without one."""
        certificate = self._keyring.own
        return certificate.not_before_ms if certificate is not None else 0

    def seal(self, signer: str, payload: bytes) -> bytes:
        """The signer's seal, b"" for one this process must not speak for."""
        certificate = self._keyring.own
        return self._keyring.seal(self._domain + payload) if certificate is not None and certificate.speaks_for(signer) else b""

    def verify(self, signer: str, payload: bytes, seal: bytes, at_ms: int | None = None) -> bool:
        """Whether the signer sealed exactly this, by a key that was good then."""
        if not seal:
            return not self._is_required
        return not self._keyring.refusal(signer, self._domain + payload, seal, at_ms, is_present=False)

    def speaks_for(self, seal: bytes, name: str) -> bool:
        """Whether its certificate names this name; or nothing has to be sealed."""
        return self._keyring.speaks_for(seal, name) if seal else not self._is_required

    @property
    def revision(self) -> int:
        """How often revocations came to be known."""
        return self._keyring.revision

    @property
    def revocations(self) -> bytes:
        return self._keyring.revocations

    def revoke(self, revocations: bytes) -> bool:
        """Take in what was kept, if the root signed it."""
        return self._keyring.revoke(revocations)

    def is_revoked(self, seal: bytes, at_ms: int) -> bool:
        """Whether its key is revoked, from then on or from earlier."""
        return self._keyring.is_revoked(seal, at_ms)
