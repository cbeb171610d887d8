"""Who is believed when agents contradict each other, under attack: how often the top value is right, and who gets which trust.

    python -m benchmarks.trust [--seeds 5]

A made-up world (20 honest agents, reliable at .8 on average, and attackers), 600 questions, feedback on some of them by one
moderator; everything else goes through hive/voting and hive/ratings. Accuracy is counted on questions without feedback.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from benchmarks.harness import parser_of
from hive_mind.hive.trust.contradiction import Claim, fused
from hive_mind.hive.trust.trust_book import NOBODY, Hive, Rating, TrustSettings, beta_trust, reputations

HONEST = 20
QUESTIONS = 600
RIGHT, LIE = "0", "1"


class World(NamedTuple):
    """Claims by question, which questions got feedback, and which agents are attackers."""

    questions: list[list[Claim]]
    answered: frozenset[int]
    attackers: frozenset[str]
    sybils: frozenset[str]

    @property
    def open(self) -> list[list[Claim]]:
        return [claims for number, claims in enumerate(self.questions) if number not in self.answered]

    def voucher(self, agent: str) -> str:
        return "voucher/eve" if agent in self.sybils else agent

    def ratings(self) -> list[Rating]:
        """What the moderator has experienced with each agent on answered questions."""
        counts: dict[str, list[int]] = {}
        for number in self.answered:
            for claim in self.questions[number]:
                counts.setdefault(claim.agent, [0, 0])[claim.value != RIGHT] += 1
        return [Rating("moderator", agent, good, bad, 0) for agent, (good, bad) in counts.items()]


def world(
    seed: int, colluders: int = 0, sybils: int = 0, copied: float = 0.0, feedback: float = 0.1, truthful: float = 0.0
) -> World:
    """Colluders and sybils say `LIE`, but for a share `truthful` of what colluders say; honest agents err each in its own way."""
    rng = np.random.default_rng(seed)
    reliability = rng.beta(8, 2, HONEST)
    questions = []
    for question in range(QUESTIONS):
        claims: list[Claim] = []
        for agent in rng.choice(HONEST, rng.integers(2, 6), replace=False).tolist():
            if claims and rng.random() < copied:
                source = claims[rng.integers(len(claims))]
                claims.append(Claim(f"honest {agent}", source.value, source.root))
            else:
                value = RIGHT if rng.random() < reliability[agent] else str(rng.integers(1, 5))
                claims.append(Claim(f"honest {agent}", value, f"{question} honest {agent}"))
        for agent in rng.choice(colluders, max(1, int(0.3 * colluders)), replace=False).tolist() if colluders else []:
            value = RIGHT if rng.random() < truthful else LIE
            claims.append(Claim(f"colluder {agent}", value, f"{question} colluder {agent}"))
        chosen = rng.choice(sybils, max(1, sybils // 2), replace=False).tolist() if sybils else []
        claims.extend(Claim(f"sybil {agent}", LIE, f"{question} sybil {agent}") for agent in chosen)
        questions.append(claims)
    answered = frozenset(np.flatnonzero(rng.random(QUESTIONS) < feedback).tolist())
    sybil_names = frozenset(f"sybil {number}" for number in range(sybils))
    return World(questions, answered, sybil_names | {f"colluder {number}" for number in range(colluders)}, sybil_names)


def by_feedback(given: World) -> dict[str, float]:
    """Trust from reported experience."""
    found = reputations(given.ratings(), Hive(frozenset({"moderator"})), 0, TrustSettings())
    return {agent: beta_trust(known.good, known.bad) for agent, known in found.items()}


def accuracy(given: World, trust: Mapping[str, float]) -> float:
    """Share of open questions whose most likely value is right; of equal ones the first said counts."""
    right = 0
    for claims in given.open:
        votes = fused(claims, lambda agent: trust.get(agent, 1.0), given.voucher)
        best = max(votes.values())
        right += next(claim.value for claim in claims if votes[claim.value] == best) == RIGHT
    return right / len(given.open)


def majority(given: World) -> float:
    """What counting heads would get."""
    right = 0
    for claims in given.open:
        said = [claim.value for claim in claims]
        right += max(said, key=said.count) == RIGHT
    return right / len(given.open)


def ring(seed: int, members: int, settings: TrustSettings) -> tuple[float, float, float]:
    """Raters that praise each other and slander others: (AUC of honest agents over them, mean T of the honest, of the ring)."""
    rng = np.random.default_rng(seed)
    size = HONEST + members
    reliability = np.concatenate([rng.beta(8, 2, HONEST), rng.beta(2, 8, members)])
    counts: dict[tuple[int, int], tuple[int, int]] = {}
    for rater in range(size):
        for subject in rng.choice(size, 8, replace=False).tolist():
            good = int(rng.binomial(10, reliability[subject])) if rater < HONEST else 10 * (subject >= HONEST)
            counts[rater, subject] = (good, 10 - good)
    praise = {(a, b): (50, 0) for a in range(HONEST, size) for b in range(HONEST, size)}
    rows = [Rating(f"{a:02}", f"{b:02}", good, bad, 0) for (a, b), (good, bad) in (counts | praise).items()]
    found = reputations(rows, Hive(frozenset({"00", "01", "02"})), 0, settings)
    trust = [found.get(f"{agent:02}", NOBODY).trust for agent in range(size)]
    honest, ringed = trust[:HONEST], trust[HONEST:]
    wins = [(a > b) + 0.5 * (a == b) for a in honest for b in ringed]
    return float(np.mean(wins)), float(np.mean(honest)), float(np.mean(ringed))


SCENARIOS: dict[str, dict[str, float]] = {
    "clean": {},
    "half of the claims copied": {"copied": 0.5},
    "5 colluders": {"colluders": 5},
    "10 colluders": {"colluders": 10},
    "20 colluders": {"colluders": 20},
    "10 colluders, 70 % truthful": {"colluders": 10, "truthful": 0.7},
    "5 colluders, 2 % feedback": {"colluders": 5, "feedback": 0.02},
    "10 colluders, 2 % feedback": {"colluders": 10, "feedback": 0.02},
    "10 colluders, no feedback": {"colluders": 10, "feedback": 0.0},
    "100 sybils of one voucher": {"sybils": 100},
    "100 sybils, no feedback": {"sybils": 100, "feedback": 0.0},
    "20 sybils, 5 colluders, 30 % copied": {"sybils": 20, "colluders": 5, "copied": 0.3},
}


def mean(scenario: Mapping[str, float], method: Callable[[World], float], seeds: int) -> float:
    return float(np.mean([method(world(seed, **scenario)) for seed in range(seeds)]))  # type: ignore[arg-type]


def main() -> None:
    seeds = parser_of(__doc__, seeds=5).parse_args().seeds
    methods: dict[str, Callable[[World], float]] = {
        "majority": majority,
        "feedback": lambda given: accuracy(given, by_feedback(given)),
    }
    print(f"{'share of questions answered right':<38}" + "".join(f"{name:>13}" for name in methods))
    for name, scenario in SCENARIOS.items():
        print(f"{name:<38}" + "".join(f"{mean(scenario, method, seeds):13.3f}" for method in methods.values()))
    print(f"\n{'a ring of raters beside 20 honest ones':<38}{'AUC':>13}{'T honest':>13}{'T ring':>13}")
    for members in (5, 10, 20):
        for name, agents_min in (("EigenTrust", 0), ("own standing", 1_000)):
            settings = TrustSettings(eigentrust_agents_min=agents_min)
            row = np.mean([ring(seed, members, settings) for seed in range(2 * seeds)], axis=0)
            print(f"{f'{members} members, {name}':<38}" + "".join(f"{figure:13.3f}" for figure in row))


if __name__ == "__main__":
    main()
