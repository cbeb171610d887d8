"""On the generated corpus, a tenth of which is said again, every hive finds what one memory finds, with the same scores.

`HIVE_CORPORA=10` generates so many.
"""

import os
from dataclasses import replace

import pytest

from hive_mind.evals.arms.dealing import DEALS
from hive_mind.evals.datasets import Scope
from hive_mind.evals.experiments.values import Arm
from hive_mind.evals.generating import generate
from tests.unit.evals.arms.notes import told

CORPORA = int(os.environ.get("HIVE_CORPORA", "1"))
SOME = slice(None, None, 9)
HIVES = [
    Arm("flat", 6),
    Arm("federated", 6, groups=3),
    Arm("sharded", 6, replicas=2),
    Arm("routed", 6, fan_out=6),
    *(Arm(kind, 6, groups, place="simulator") for kind, groups in (("flat", 0), ("federated", 3), ("sharded", 0))),
]


@pytest.fixture(scope="module", params=range(1, CORPORA + 1))
def scope(request: pytest.FixtureRequest) -> Scope:
    (only,) = generate(300, 10, request.param).scopes
    assert len({document.text for document in only.documents}) < len(only.documents)
    return only


@pytest.mark.parametrize("deal", ["random", *(pytest.param(one, marks=pytest.mark.thorough) for one in DEALS if one != "random")])
def test_however_it_is_dealt_every_hive_finds_what_one_memory_finds(scope: Scope, deal: str):
    alone = told(Arm(), scope, "hybrid", asked=SOME)

    for arm in HIVES:
        shared = told(replace(arm, deal=deal), scope, "hybrid", asked=SOME)
        assert shared.scored == alone.scored, arm
        assert shared.documents == alone.documents, arm
        assert shared.learned.facts == alone.learned.facts


# "hybrid", above, ranks by both of the others.
@pytest.mark.parametrize("mode", ["recent", *(pytest.param(one, marks=pytest.mark.thorough) for one in ("lexical", "semantic"))])
def test_however_it_is_asked_every_hive_finds_what_one_memory_finds(scope: Scope, mode: str):
    alone = told(Arm(), scope, mode, asked=SOME)

    for arm in HIVES:
        assert told(arm, scope, mode, asked=SOME).scored == alone.scored, arm
