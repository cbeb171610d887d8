"""A tuner without any model: a seeded search by successive halving (Jamieson and Talwalkar 2016), in rounds.

A round draws changes of the best configuration, measures them with a third of the training questions, the better half of
them with two thirds, and the best of those with all; the next round goes on from whatever is best then. At the end each change
that is not needed is taken back. The same seed does the same.
"""

import random
from collections.abc import Generator
from dataclasses import dataclass

from hive_mind.retrieval.files.changing import changed, differences, is_same, values_written, without
from hive_mind.retrieval.files.configuration import RetrievalConfig
from hive_mind.retrieval.tuning.search_space import Change, compatible, space
from hive_mind.retrieval.tuning.tuner import GAIN_MIN, Proposal, Situation, Step


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """`width`: how many are tried in a round; more finds more and takes longer. `rounds_max` bounds the whole search.

    `patience`: rounds without a gain until it gives up; one may have drawn badly. `changes_max`: how many changes one draw makes.
    """

    width: int = 24
    rounds_max: int = 5
    patience: int = 2
    changes_max: int = 2
    seed: int = 0


# How much of the training questions is asked at each halving, and which part of the candidates goes on.
_RUNGS = ((1 / 3, 1 / 2), (2 / 3, 1 / 4))
# Some draws make no sense, some were tried before; where this many in a row do, there is nothing left.
_DRAWS_MAX = 400

_Search = Generator[Proposal, Situation, None]


@dataclass(frozen=True, slots=True)
class _Candidate:
    config: RetrievalConfig
    reason: str


class SearchTuner:
    """Implements `Tuner`. For one tuning."""

    def __init__(self, settings: SearchSettings | None = None) -> None:
        self._settings = settings or SearchSettings()
        self._rng = random.Random(self._settings.seed)  # noqa: S311 - draws configurations, guards nothing
        self._tried: list[RetrievalConfig] = []
        self._search: _Search | None = None

    @property
    def name(self) -> str:
        return f"search (seed {self._settings.seed})"

    async def propose(self, situation: Situation) -> Proposal | None:
        """The next draw, or one that goes on to more questions."""
        try:
            if self._search is None:
                self._search = self._rounds(situation)
                return next(self._search)
            return self._search.send(situation)
        except StopIteration:
            return None

    def _rounds(self, situation: Situation) -> _Search:
        idle = 0
        for _ in range(self._settings.rounds_max):
            base, candidates = situation.best, self._drawn(situation)
            if not candidates:
                break
            situation = yield from self._halved(candidates, situation)
            # A best that only says the same in fewer words is no reason to go on.
            idle = 0 if situation.best.nudcg >= base.nudcg + GAIN_MIN or situation.best.misleading < base.misleading else idle + 1
            if idle >= self._settings.patience:
                break
        yield from self._simplified(situation)

    def _simplified(self, situation: Situation) -> _Search:
        """Take back one change after the other. What came along with a good change and does nothing goes."""
        for path in differences(situation.best.config, situation.start.config):
            best = situation.best
            config = without(best.config, path, situation.start.config)
            if config is None or situation.errors(config):
                continue
            situation = yield Proposal(config, f"is {'.'.join(path)} needed? Without it (from {best.config.name})")

    def _halved(self, candidates: list[_Candidate], situation: Situation) -> Generator[Proposal, Situation, Situation]:
        """One round. A bracket of one is no bracket: it is measured with all questions at once."""
        wide = len(candidates)
        for share, kept in _RUNGS if wide > 1 else ():
            scored: list[tuple[Step, _Candidate]] = []
            for one in candidates:
                situation = yield Proposal(one.config, one.reason, share)
                scored.append((situation.last, one))
            # Stable: of equals the simplest goes on, and of these the one that was drawn first.
            scored.sort(key=lambda pair: _rank(pair[0]))
            candidates = [one for _, one in scored[: max(1, round(wide * kept))]]
        for one in candidates[: max(1, wide // 8)]:
            situation = yield Proposal(one.config, one.reason)
        return situation

    def _drawn(self, situation: Situation) -> list[_Candidate]:
        """Different, sensible changes of the best configuration that were not tried yet."""
        base = situation.best.config
        known = space(base, situation.collection, situation.facets)
        found: list[_Candidate] = []
        for _ in range(_DRAWS_MAX):
            if len(found) == self._settings.width:
                break
            one = self._candidate(base, known)
            if one and not self._was_tried(one.config) and not situation.errors(one.config):
                self._tried.append(one.config)
                found.append(one)
        return found

    def _candidate(self, base: RetrievalConfig, known: tuple[Change, ...]) -> _Candidate | None:
        # Subjects first: else a subject with many values would be most of what is drawn.
        subjects = sorted({one.subject for one in known})
        count = min(self._rng.randint(1, self._settings.changes_max), len(subjects))
        chosen = [
            self._rng.choice([one for one in known if one.subject == subject]) for subject in self._rng.sample(subjects, count)
        ]
        if not compatible(chosen):
            return None
        merged = {path: value for change in chosen for path, value in change.changes.items()}
        config, _ = changed(base, merged)
        if config is None or is_same(config, base):
            return None
        return _Candidate(config, f"{'; '.join(change.reason for change in chosen)} (from {base.name})")

    def _was_tried(self, config: RetrievalConfig) -> bool:
        return any(is_same(config, other) for other in self._tried)


def _rank(step: Step) -> tuple[float, int, int, int]:
    """What comes first goes on."""
    return (-round(step.nudcg, 9), step.misleading, step.measured.distractors, values_written(step.config))
