"""Statements of an agent or a node, on facts, itself and the hive, sealed by its key: `hive.policy.seal.Seal` with signatures.

A seal binds the hive besides the fields that `hive.policy.seal` puts under it, so a statement in one hive is void in another, and
in the next generation of the same.
"""

from hive_mind.identity.keyring import Keyring


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
