"""Whatever happens, all members soon know the same topology, the one that joins and leaves say; and no fact is lost meanwhile."""

from random import Random

import pytest

from hive_mind.hive.effects import Listing, Promote
from hive_mind.hive.membership import MembershipSettings
from hive_mind.hive.topology import Flat
from tests.hives import federated, promotion, sharded
from tests.members import Network
from tests.sampled import thorough

# Somebody falls silent (3.5 beats) who was to propose, another notices and waits for more to come (1 + 2), tells, and who did not
# hear it asks (1 + 1); once more for whom a rival proposal had left out.
BEATS_TO_AGREE = 12


def some_of(seeds: int, usual: int) -> list[object]:
    """All of them, the usual ones in every run."""
    return [*range(usual), *(thorough(seed) for seed in range(usual, seeds))]


def storm(network: Network, seed: int) -> set[str]:
    """Everything that can go wrong, for a while. Who is to be a member when it is over."""
    chance = Random(seed)
    network.loss, network.repeats, network.delay_ms = chance.choice([0.0, 0.1, 0.4]), 0.1, chance.choice([10, 100, 600])
    founders, staying, joiners = sorted(network.machines), set(network.machines), iter([f"j{n}" for n in range(9)] + ["a0"])
    for _ in range(chance.randrange(3, 9)):
        network.beats(chance.uniform(0.1, 6))
        match chance.randrange(6):
            case 0 | 1 if (joiner := next(joiners, None)) is not None:
                network.add(joiner, chance.choice([None, network.machines[founders[0]].topology]))
                staying.add(joiner)
            case 2 if len(staying) > 3:
                leaver = chance.choice(sorted(staying & network.running().keys()) or [founders[0]])
                if leaver in network.running():
                    network.leave(leaver)
                    staying.discard(leaver)
            case 3:
                network.kill(chance.choice(sorted(network.machines)))
            case 4:
                # A process that was to leave and died is started again as one that stays.
                down = sorted(network.machines.keys() - network.running().keys())
                for name in down:
                    network.boot(name)
                    staying.add(name)
            case _:
                side = set(chance.sample(sorted(network.machines), len(network.machines) // 2))
                network.is_cut = lambda a, b, side=side: (a in side) != (b in side)
    network.is_cut = lambda *_: False
    network.loss = network.repeats = 0.0
    network.delay_ms = 20
    for name in sorted(network.machines.keys() - network.running().keys()):
        network.boot(name)
        staying.add(name)
    return staying


@pytest.mark.parametrize("seed", some_of(60, 12))
def test_all_soon_know_the_same_members_whatever_happened_before(seed):
    network = Network(Flat(("n0", "n1", "n2", "n3", "n4")), seed, only_beats=True, is_sealed=bool(seed % 2))
    staying = storm(network, seed)

    assert network.until(lambda: network.agrees_on(staying), BEATS_TO_AGREE), f"seed {seed}"
    epochs = len(network.epochs)
    network.beats(10)
    assert network.agrees_on(staying)
    assert len(network.epochs) == epochs, "what is agreed on stays as it is"


@pytest.mark.parametrize("seed", some_of(8, 2))
def test_who_falls_silent_for_good_hinders_nobody_and_stays_a_member_unless_that_was_set_otherwise(seed):
    silent_for_good = MembershipSettings(gone_after_ms=20_000 if seed % 2 else 0)
    network = Network(Flat(("n0", "n1", "n2", "n3", "n4")), seed, settings=silent_for_good, only_beats=True)
    network.beats(3)

    network.kill("n0")
    network.kill(f"n{1 + seed % 4}")
    network.add("j0")

    dead = {"n0", f"n{1 + seed % 4}"}
    everybody = {"n0", "n1", "n2", "n3", "n4", "j0"}
    assert network.until(lambda: network.agrees_on(everybody), 10)
    network.beats(30)
    assert network.agrees_on(everybody - dead if seed % 2 else everybody)


KINDS = {"flat": Flat(("n0", "n1", "n2", "n3")), "federated": federated(), "sharded": sharded(6)}


class Authors:
    """Promotes facts at members, and knows which were taken."""

    def __init__(self, network: Network) -> None:
        self.network, self.count = network, 0
        self.asked: dict[str, str] = {}

    def say(self, name: str) -> None:
        self.count += 1
        self.asked[f"say {self.count}"] = f"Pump {self.count} is red."
        self.network.tell(name, Promote(f"say {self.count}", (promotion(f"Pump {self.count} is red."),)))

    def said(self) -> set[str]:
        """Facts a node has promised to keep."""
        outcomes = ((content, self.network.answers.get(request)) for request, content in self.asked.items())
        return {content for content, outcome in outcomes if outcome and not outcome[0].refused}


def listed(network: Network, name: str) -> tuple[set[str], tuple[str, ...]]:
    """What a member finds, and what it says is missing."""
    request = f"list {name} {network.now_ms}"
    network.tell(name, Listing(request, 10_000, 2_000))
    network.run(2_100)
    found = network.answers.pop(request)
    return {fact.content for fact in found.facts}, found.missing


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", some_of(4, 1))
def test_facts_are_found_by_all_after_members_came_and_went(kind, seed):
    network, chance = Network(KINDS[kind], seed), Random(seed)
    authors, joiners = Authors(network), [f"j{n}" for n in range(4)]
    leavers = chance.sample(["n0", "n1", "n2"] if kind != "federated" else ["n0"], 1 if kind != "sharded" else 2)
    network.loss, network.repeats = chance.choice([0.0, 0.2]), 0.1

    for _ in range(12):
        authors.say(chance.choice([n for n in sorted(network.running()) if network.membership(n).topology is not None]))
        network.beats(chance.uniform(0.1, 3))
        match chance.randrange(4):
            case 0 if joiners:
                network.add(joiners.pop(), chance.choice([None, KINDS[kind]]))
            case 1 if leavers:
                network.leave(leavers.pop())
            case 2:
                name = chance.choice(sorted(network.running()))
                network.kill(name)
                network.beats(chance.uniform(0.1, 6))
                network.boot(name)
            case 3:
                side = set(chance.sample(sorted(network.machines), len(network.machines) // 3))
                network.is_cut = lambda a, b, side=side: (a in side) != (b in side)
                network.beats(chance.uniform(1, 10))
                network.is_cut = lambda *_: False
        for name in [n for n, member in network.running().items() if member.membership.is_leaving]:
            if network.member(name).has_handed_over(network.now(name)):
                network.kill(name)
    network.loss = network.repeats = 0.0
    network.beats(90)

    assert authors.said()
    for name in network.running():
        found, missing = listed(network, name)
        assert (found, missing) == (authors.said(), ()), f"{kind} seed {seed} at {name}"
    assert all(network.member(n).has_handed_over(network.now(n)) for n, m in network.running().items() if m.membership.is_leaving)
