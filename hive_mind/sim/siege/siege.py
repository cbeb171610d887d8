"""When intruders are at work: a forger all through the storm, a thief from some moment on, whose key is revoked minutes later.

What the thief said is to be gone in the end, and both go on while members agree again.
"""

from functools import partial

from hive_mind.hive.chance import Chance
from hive_mind.sim.faults import MINUTE_MS
from hive_mind.sim.siege.intruders import FORGER, THIEF, Forger, Thief
from hive_mind.sim.workload import MODERATORS_NODE
from hive_mind.sim.world import NewChance, World

_PAUSE_MS = 8_000
_STOLEN_AT_MS = (MINUTE_MS, 2 * MINUTE_MS)
_REVOKED_AFTER_MS = (MINUTE_MS, 2 * MINUTE_MS)


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

    def _act(self, one: Forger | Thief) -> None:
        if self._is_over:
            return
        world = self._world
        names = sorted(world.machines)
        world.attempt(lambda: one.step(names, world.machines[names[0]].true_ms))
        world.schedule.after(self._chance.expovariate(1 / _PAUSE_MS), lambda: self._act(one))

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
