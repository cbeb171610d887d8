"""Does it help to weigh signals by what people decided (`judge: {weights: learned}`)?

Made-up facts, of which six in ten are right. A model is as sure as it is right. Beside it stands a signal that speaks for every
fact ("noise"), one that is right as often as it claims to be ("informative"), or one that claims to be far surer than it is right
("boastful"). Weights are learned from the first decisions. Of other facts is counted what may pass alone so that 95 of 100 of it
are right, which is what learned thresholds aim at; and by how many bits on average the pooled confidence is surprised.

    python -m benchmarks.signal_weights [--seeds 60]
"""

from collections.abc import Callable, Mapping
from itertools import accumulate
from math import exp, log2
from random import Random
from statistics import mean

from benchmarks.harness import parser_of
from hive_mind.judge.calibration import TARGET, learned_weights, pooled
from hive_mind.judge.judgment import JudgmentAction, Precedent, Signal
from hive_mind.measure import estimate

ACCEPT, RETRY = JudgmentAction.ACCEPT, JudgmentAction.RETRY
DECISIONS, OTHERS = (30, 100, 300), 2000


def voice(origin: str, log_odds: float) -> Signal:
    """`log_odds`: of the fact being right."""
    action = ACCEPT if log_odds >= 0 else RETRY
    return Signal(name=origin, origin=origin, action=action, confidence=1 / (1 + exp(-abs(log_odds))))


def honest(rng: Random, is_right: bool, apart: float) -> float:
    """Log odds of somebody who knows something, and is as sure as that makes them."""
    return rng.gauss(apart / 2 if is_right else -apart / 2, apart**0.5)


BESIDE: dict[str, Callable[[Random, bool], Signal]] = {
    "noise": lambda rng, _: Signal(name="other", origin="other", action=ACCEPT, confidence=rng.uniform(0.55, 0.95)),
    "informative": lambda rng, is_right: voice("other", honest(rng, is_right, 2.0)),
    "boastful": lambda rng, is_right: voice("other", 4 * honest(rng, is_right, 0.3)),
}


def decided(rng: Random, beside: str) -> Precedent:
    is_right = rng.random() < 0.6
    signals = (voice("model", honest(rng, is_right, 2.5)), BESIDE[beside](rng, is_right))
    return Precedent(person=ACCEPT if is_right else RETRY, signals=signals)


def figures(some: list[Precedent], weights: Mapping[str, float] | None) -> tuple[float, float]:
    """The share that may pass alone, and the surprise."""
    accepted, bits = [], []
    for one in some:
        found = pooled(one.signals, weights)
        if found is None or found.confidence is None:
            continue
        is_right = (found.action is ACCEPT) is (one.person is ACCEPT)
        bits.append(-log2(found.confidence if is_right else 1 - found.confidence))
        if found.action is ACCEPT:
            accepted.append((found.confidence, is_right))
    right = accumulate(is_right for _, is_right in sorted(accepted, reverse=True))
    passing = max((number for number, count in enumerate(right, 1) if count >= TARGET * number), default=0)
    return passing / len(some), mean(bits)


def main() -> None:
    seeds = parser_of(__doc__, seeds=60).parse_args().seeds
    for beside in BESIDE:
        for decisions in DECISIONS:
            pairs = []
            for seed in range(seeds):
                rng = Random(f"{beside} {decisions} {seed}")
                learned = learned_weights(decided(rng, beside) for _ in range(decisions)).weights_by_goal_type["general"]
                others = [decided(rng, beside) for _ in range(OTHERS)]
                pairs.append((figures(others, None), figures(others, learned), learned["other"]))
            equal, weighed, weights = zip(*pairs, strict=True)
            more = estimate([one[0] - other[0] for one, other in zip(weighed, equal, strict=True)])
            assert more
            shown = " → ".join(
                f"{mean(one[0] for one in rows):.1%} {mean(one[1] for one in rows):.3f} bits" for rows in (equal, weighed)
            )
            interval = f"{more.mean:+.1%} [{more.low:+.1%}, {more.high:+.1%}]"
            print(f"{beside:11} {decisions:3} decisions, it weighs {mean(weights):.2f}: {shown}; passes {interval}", flush=True)


if __name__ == "__main__":
    main()
