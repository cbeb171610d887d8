"""A year of a person, an agent for each app of the phone: every hive finds what one memory finds, and what the living know."""

import random
from dataclasses import replace

import pytest

from hive_mind.evals.arms.node_per_agent import remains_of
from hive_mind.evals.datasets import Scope
from hive_mind.evals.experiments import Arm, Cell, DataSource, Fault, Retrieval
from tests.sampled import usually
from tests.unit.evals.arms.notes import WORDS, scope_of, told

APPS = "call sms note photo push calendar contact health chat".split()
BY_APP = Arm("federated", len(APPS), groups=len(APPS), deal="session", place="simulator")
HIVES = [
    replace(BY_APP, kind="flat", groups=0),
    BY_APP,
    replace(BY_APP, groups=3),
    replace(BY_APP, kind="sharded", groups=0),
    replace(BY_APP, place="in-process"),
]


def a_year(count: int = 20) -> Scope:
    """Entries of each app, of different lengths, with the day as the app writes it."""
    chance = random.Random(8)
    texts, apps = list[str](), list[str]()
    for number, app in enumerate(APPS):
        for entry in range(count):
            day = f"2025-{1 + entry % 12:02}-{1 + chance.randrange(28):02}"
            texts.append(f"{app}: {' '.join(chance.choices(WORDS, k=3 + 4 * number))}; datetime: {day} 08:{entry:02}:00")
            apps.append(app)
    questions = [
        "Where was Otto on the morning of January 12th?",
        "What did I note about the ferry in March?",
        "Which photo has the blue bridge?",
        "When does the hall close?",
        "2025-02-03",
    ]
    return scope_of(texts, questions, section=apps)


@pytest.mark.parametrize("mode", usually(["lexical", "hybrid"], "hybrid"))
def test_with_an_agent_for_each_app_every_hive_finds_what_one_memory_finds(mode: str) -> None:
    scope = a_year()
    alone = told(Arm(), scope, mode)

    for arm in HIVES:
        assert told(arm, scope, mode).scored == alone.scored, arm


@pytest.mark.parametrize("mode", usually(["lexical", "hybrid"], "hybrid"))
def test_with_a_third_of_the_apps_silent_it_finds_what_the_others_know_and_says_how_much_that_is(mode: str) -> None:
    scope, fault = a_year(), Fault(down=3)
    remains = remains_of(Cell("cell", DataSource("notes"), BY_APP, Retrieval(mode, mode), 1, fault))  # type: ignore[arg-type]
    assert remains is not None
    silent = {APPS[int(name.rpartition("-")[2])] for name in remains.stopped}
    heard = replace(scope, documents=tuple(one for one in scope.documents if one.section not in silent))

    shared, alone = told(BY_APP, scope, mode, fault=fault), told(Arm(), heard, mode)

    assert len(silent) == 3
    assert shared.scored == alone.scored
    assert [one.cost.completeness for one in shared.outcomes] == [pytest.approx(6 / 9)] * len(scope.questions)
