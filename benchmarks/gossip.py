"""How many rounds until everybody has everything, and what it costs, when members do nothing but gossip?

Real shares, timetables and exchanges on a seeded network in virtual time (`crowd.py`): no broker, defaults throughout. A round is
one period of a node's timetable; members begin anywhere in it. Bytes are those of packed messages, without what a broker adds;
the floor is what the facts themselves take, once per member that did not write them.

    python -m benchmarks.gossip [--sizes 10 50 200 1000] [--seeds 3] [--json FILE]
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log2
from random import Random

import msgspec

from benchmarks.crowd import Crowd, Member
from benchmarks.harness import parser_of, told
from hive_mind.hive.replication import GossipSettings

PERIOD_MS = GossipSettings().period_ms
# A sentence of the usual length: with its ids and stamp some 300 bytes, as a fact of a real hive without its vector.
SENTENCE = (
    "The {} of station {} was opened on day {} of the survey, and nobody has reported anything unusual about it since then."
)
ROUNDS_MAX = 60


@dataclass(frozen=True)
class Row:
    """One trial: rounds until everybody had everything (or was given up), and bytes sent per member."""

    what: str
    members: int
    facts_each: int
    seed: int
    rounds: float
    bound: float
    kb_per_member: float
    floor_kb: float
    cpu_s: float
    note: str = ""


def bound(members: int, loss: float = 0.0) -> float:
    """What is promised."""
    rounds = 0.54 * log2(members) + 4
    return 1.7 * rounds + 2 if loss else rounds


def crowd_of(
    members: int, facts_each: int, seed: int, loss: float = 0.0, quota: int = 1 << 40, *, counts_bytes: bool = True
) -> Crowd:
    chance = Random(seed)
    everybody = [Member(f"node-{number:04}", chance, quota=quota) for number in range(members)]
    for number, member in enumerate(everybody):
        member.say(*[SENTENCE.format("valve", number, day) for day in range(facts_each)])
    return Crowd(everybody, chance, loss, counts_bytes=counts_bytes)


def have(members: Sequence[Member], facts: int) -> Callable[[], bool]:
    """Whether each of them has that many facts. Those that have are not asked again."""
    waiting = list(members)

    def have_all() -> bool:
        while waiting and len(waiting[-1].share) >= facts:
            waiting.pop()
        return not waiting

    return have_all


def rounds_until(crowd: Crowd, is_done: Callable[[], bool]) -> float:
    """From now on; infinite if it takes too long."""
    start = crowd.ms
    is_over = crowd.run(start + ROUNDS_MAX * PERIOD_MS, is_done, check_every_ms=PERIOD_MS // 10)
    return (crowd.ms - start) / PERIOD_MS if is_over else float("inf")


def spread(members: int, facts_each: int, seed: int, loss: float = 0.0) -> Row:
    """Everybody says something at once."""
    started = time.process_time()
    crowd = crowd_of(members, facts_each, seed, loss)
    rounds = rounds_until(crowd, have(list(crowd.members.values()), members * facts_each))
    what = f"{loss:.0%} loss" if loss else "no loss"
    return row(what, crowd, facts_each, seed, rounds, bound(members, loss), started)


def healed(members: int, facts_each: int, seed: int) -> Row:
    """Two halves that could not speak to each other and agree among themselves; from when they can."""
    started = time.process_time()
    crowd = crowd_of(members, facts_each, seed)
    names = list(crowd.members)
    half = frozenset(names[: members // 2])
    crowd.is_cut = lambda sender, receiver: (sender in half) != (receiver in half)
    rounds_until(crowd, lambda: all(len(member.share) >= facts_each * (members // 2) for member in crowd.members.values()))
    crowd.is_cut = lambda _sender, _receiver: False
    rounds = rounds_until(crowd, have(list(crowd.members.values()), members * facts_each))
    return row("after a partition", crowd, facts_each, seed, rounds, bound(members), started)


def flooded(members: int, facts_each: int, seed: int, per_round: int, quota: int = 20) -> Row:
    """One member says `per_round` things a round for as long as it takes; what is counted is what the honest ones have."""
    started = time.process_time()
    crowd = crowd_of(members, facts_each, seed, quota=quota)
    rounds, share, worst = flood(crowd, facts_each, per_round)
    note = f"flood {share:.1%} of what the others sent, at most {worst} facts a member"
    return row(f"flood {per_round} a round", crowd, facts_each, seed, rounds, bound(members) + 1, started, note)


def flood(crowd: Crowd, facts_each: int, per_round: int) -> tuple[float, float, int]:
    """Rounds until the honest have all of the honest; the flood's share of what they send; its facts at one of them."""
    *honest, bad = crowd.members.values()
    agent = bad.name
    crowd.counts_part_of = agent
    bad.is_greedy = True
    number = 0
    wanted = (len(honest)) * facts_each

    def step() -> bool:
        nonlocal number
        for _ in range(per_round // 10):
            bad.say(SENTENCE.format("flood", number, 0))
            number += 1
        return all(honest_facts(member, agent) >= wanted for member in honest)

    rounds = rounds_until(crowd, step)
    worst = max(len(member.share) - honest_facts(member, agent) for member in honest)
    return rounds, crowd.part_bytes / sum(crowd.sent_bytes[member.name] for member in honest), worst


def honest_facts(member: Member, bad: str) -> int:
    return sum(given.assertion.agent != bad for given in member.share.all_sealed())


def starved(members: int, seed: int) -> Row:
    """One member that nobody trusts and that never begins itself; until it has everything."""
    started = time.process_time()
    crowd = crowd_of(members, 1, seed)
    last = list(crowd.members)[-1]
    crowd.trust[last] = 0.0
    crowd.passive.add(last)
    rounds = rounds_until(crowd, have([crowd.members[last]], members))
    return row("nobody trusts one", crowd, 1, seed, rounds, 25.0, started)


def row(what: str, crowd: Crowd, facts_each: int, seed: int, rounds: float, limit: float, started: float, note: str = "") -> Row:
    members = len(crowd.members)
    one = next(iter(next(iter(crowd.members.values())).share.all_sealed()))
    floor = len(msgspec.msgpack.encode(one)) * facts_each * (members - 1) / 1e3
    sent = sum(crowd.sent_bytes.values()) / members / 1e3
    return Row(what, members, facts_each, seed, rounds, limit, sent, floor, time.process_time() - started, note)


def trials(sizes: Sequence[int], seeds: int) -> Iterator[Row]:
    for members in sizes:
        if members == 100:
            yield from (starved(members, seed) for seed in range(12))
        for seed in range(seeds if members < 1000 else 1):
            for facts_each in {10: (1, 20, 100), 50: (1, 20)}.get(members, (1,) if members >= 1000 else (1, 5)):
                yield spread(members, facts_each, seed)
            yield spread(members, 1, seed, loss=0.2)
            yield healed(members, 1, seed)
            if members == 50:
                yield flooded(members, 10, seed, 200)
                yield flooded(members, 10, seed, 2000)


def main() -> None:
    parser = parser_of(__doc__, "json", seeds=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 50, 100, 200, 1000])
    options = parser.parse_args()
    told(trials(options.sizes, options.seeds), options.json)


if __name__ == "__main__":
    main()
