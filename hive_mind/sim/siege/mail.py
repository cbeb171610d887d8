"""What goes between machines that prove who they are: signed by who sends it, looked at by who gets it.

As a runner does it, by `identity.envelopes`. Membership is not simulated; of its beats there is what brings certificates and
revocations to everybody.
"""

from collections import Counter, deque

from hive_mind.bus.base import Envelope
from hive_mind.identity.envelopes import Signing
from hive_mind.identity.seals import KeySeal
from hive_mind.model.messages import Beat, Message
from hive_mind.sim.siege.keys import HIVE, Office, seal_of

BEAT_MS = 120_000
_OVERHEARD = 60


class Mail:
    """Of one world. Keys are read anew when a machine starts."""

    def __init__(self, office: Office) -> None:
        self.office = office
        self.refused: Counter[str] = Counter()
        """Envelopes whose sender was not believed, by reason."""
        self.overheard: deque[Envelope] = deque(maxlen=_OVERHEARD)
        """The last envelopes sent: a writer of a bus can also read it."""
        self._signing: dict[str, Signing] = {}
        self._count = 0

    def started(self, name: str) -> KeySeal:
        """A program starts on a machine; the seal of its node."""
        signing = self._signing[name] = self.office.signing(name)
        return seal_of(signing.keyring)

    def envelope(self, sender: str, to: tuple[str, ...], message: Message) -> Envelope:
        """A message, signed by who sends it."""
        envelope = self._signing[sender].signed(self.bare(sender, to, message))
        self.overheard.append(envelope)
        return envelope

    def bare(self, sender: str, to: tuple[str, ...], message: Message) -> Envelope:
        """The same, signed by nobody."""
        self._count += 1
        return Envelope(f"e{self._count}", HIVE, sender, to, type(message).__name__, message)

    def beat(self, name: str, others: tuple[str, ...]) -> Envelope:
        """What brings a machine's certificate, and what it knows of others."""
        return self.envelope(name, others, Beat(b"", 0, 0))

    def knows(self, name: str, other: str) -> bool:
        """Whether a machine can check what another one signs now."""
        return self._signing[other].keyring.certificate in self._signing[name].keyring.known

    def is_taken(self, name: str, envelope: Envelope, wall_ms: int) -> bool:
        """Whether a machine takes it in."""
        why = self._signing[name].refusal(envelope, wall_ms)
        if why:
            self.refused[why] += 1
        return not why and name in envelope.target and not isinstance(envelope.message, Beat)
