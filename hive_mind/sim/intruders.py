"""Strangers on the bus: one that forges and replays messages, and one with the key of a member.

The forger has certificates of another root, and one of this fleet that has expired. The thief is the member whose key it has,
until that is revoked, and then goes on; it also says things in the names of others, as no certificate of its allows.

When intruders are at work: a forger all through the storm, a thief from some moment on, whose key is revoked minutes later.

The thief's assertions are to be gone in the end, and both go on while members agree again.
"""

from collections.abc import Callable
from functools import partial

import msgspec

from hive_mind.bus import Envelope
from hive_mind.hive import Chance
from hive_mind.hive.policy import UNSEALED
from hive_mind.identity import KeySeal
from hive_mind.identity.epochs import Signing
from hive_mind.model.messages import Message
from hive_mind.sim import HOUR_MS, MINUTE_MS, MODERATORS_NODE
from hive_mind.sim.keys import HIVE, Mail, names_of
from hive_mind.sim.liars import Forgery, another
from hive_mind.sim.machine import START_MS
from hive_mind.sim.world import NewChance, World

FORGER, THIEF = "a forger", "a thief"

Post = Callable[[str, Envelope], None]
"""Puts an envelope on its way to a machine."""

_PAUSE_MS = 8_000
_STOLEN_AT_MS = (MINUTE_MS, 2 * MINUTE_MS)
_REVOKED_AFTER_MS = (MINUTE_MS, 2 * MINUTE_MS)


class Forger:
    """Nothing it says may be believed."""

    def __init__(self, mail: Mail, chance: Chance, post: Post) -> None:
        self._mail, self._chance, self._post = mail, chance, post
        office, key = mail.office, mail.office.new_key()
        self._foreign = office.foreign(("*",))
        self._expired = office.signing_with(key, office.certified(key, names_of(MODERATORS_NODE), START_MS - 24 * HOUR_MS))
        self._count = 0

    def step(self, names: list[str], now_ms: int) -> None:
        """Say something false to somebody, twice."""
        overheard = list(self._mail.overheard)
        for _ in range(2):
            if overheard and self._chance.random() < 0.4:
                self._count += 1
                envelope = another(self._chance, self._chance.choice(overheard), names, self._count)
                self._post(self._chance.choice(envelope.target or names), envelope)
            else:
                self._forge(names, overheard, now_ms)

    def _forge(self, names: list[str], overheard: list[Envelope], now_ms: int) -> None:
        signing = self._chance.choice((None, self._foreign, self._expired))
        forgery = Forgery(self._chance, overheard, now_ms, _Anybodys(signing) if signing else UNSEALED)
        sender, to = self._chance.sample(names, 2)
        if signing is self._expired and to != MODERATORS_NODE:
            sender = MODERATORS_NODE
        message: Message = forgery.message(sender)
        if self._chance.random() < 0.4 and (state := forgery.state()) is not None:
            sender, to, message = state
        bare = self._mail.bare(sender, (to,), message)
        seal = self._chance.choice((b"", bytes(80), overheard[-1].seal if overheard else b""))
        signed = signing.signed(bare) if signing else msgspec.structs.replace(bare, seal=seal)
        self._post(to, msgspec.structs.replace(signed, vouched=(signing.keyring.certificate,) if signing else (bytes(80),)))


class Thief:
    """`victim` is whose key it has."""

    def __init__(self, mail: Mail, victim: str, chance: Chance, post: Post) -> None:
        self._mail, self._victim, self._chance, self._post = mail, victim, chance, post
        self.signing: Signing = mail.office.signing(victim)
        self._seal = _Anybodys(self.signing)

    def step(self, names: list[str], now_ms: int) -> None:
        """Lie as the member, or as another one by its key."""
        forgery = Forgery(self._chance, list(self._mail.overheard), now_ms, self._seal)
        bystanders = [name for name in names if name != self._victim]
        to, author = self._chance.choice(bystanders), self._chance.choice((self._victim, self._victim, *bystanders))
        self._say(self._victim, to, forgery.message(author))
        if (state := forgery.state()) is not None and self._chance.random() < 0.5:
            self._say(*state)

    def _say(self, sender: str, to: str, message: Message) -> None:
        self._post(to, self.signing.signed(self._mail.bare(sender, (to,), message)))


class _Anybodys(KeySeal):
    """Seals under any name, as no honest program does."""

    def __init__(self, signing: Signing) -> None:
        super().__init__(signing.keyring, HIVE, is_required=True)

    def seal(self, signer: str, payload: bytes) -> bytes:
        """Sealed with this intruder's key, in anybody's name."""
        del signer
        return self._keyring.seal(self._domain + payload)


class Siege:
    """Of one world."""

    def __init__(self, world: World, new_chance: NewChance, chance: Chance) -> None:
        self._world, self._new_chance, self._chance = world, new_chance, chance
        self._thief: Thief | None = None
        self._is_over = False

    def begin(self) -> None:
        """Let them in, as many as the weather wants."""
        world, weather, mail = self._world, self._world.weather, self._world.mail
        if mail is not None and weather.has_forger:
            self._act(Forger(mail, self._new_chance("forger"), partial(world.post, FORGER)))
        if mail is not None and weather.has_thief:
            world.schedule.after(self._chance.uniform(*_STOLEN_AT_MS), self._steal)

    def end(self) -> None:
        """Revoke what is not yet revoked, and let nobody speak any more."""
        self._revoke()
        self._is_over = True

    def _act(self, attacker: Forger | Thief) -> None:
        if self._is_over:
            return
        world = self._world
        names = sorted(world.machines)
        world.attempt(lambda: attacker.step(names, world.machines[names[0]].true_ms))
        world.schedule.after(self._chance.expovariate(1 / _PAUSE_MS), lambda: self._act(attacker))

    def _steal(self) -> None:
        world, mail = self._world, self._world.mail
        if self._is_over or mail is None:
            return
        names = sorted(set(world.topology.nodes) - {MODERATORS_NODE})
        world.victim = self._chance.choice(names)
        self._thief = Thief(mail, world.victim, self._new_chance("thief"), partial(world.post, THIEF))
        world.rekeyed_ms = 1 << 60
        self._act(self._thief)
        world.schedule.after(self._chance.uniform(*_REVOKED_AFTER_MS), self._revoke)

    def _revoke(self) -> None:
        """The machine gets another key and starts again; from its folder it learns of the revocation, and tells the others."""
        world, mail = self._world, self._world.mail
        if self._thief is None or mail is None or world.rekeyed_ms < 1 << 60:
            return
        mail.office.revoke(world.victim)
        mail.office.issue(world.victim)
        world.rekeyed_ms = world.schedule.now_ms
        machine = world.machines[world.victim]
        if machine.node is not None:
            machine.crash(loses_tail=False)
