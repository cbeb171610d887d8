"""Questions go to groups by their words, unless somebody says by which."""

from typing import Any, cast

import numpy as np
import pytest

from hive_mind.memory.base import Hive
from hive_mind.model.gathered import Probe
from hive_mind.ranking.question import anchors
from hive_mind.runtime.members import plan_of
from hive_mind.runtime.node.intake import ByDomain
from tests.unit.runtime.worker_builders import config


class Asked:
    """Notes how it is asked; the other calls are told apart by their names."""

    promote, retract, write, fetch, facts, tally = "promote", "retract", "write", "fetch", "facts", "tally"

    def __init__(self) -> None:
        self.domains: list[tuple[str, ...]] = []

    async def ask(self, probe: Probe, *, confidence_min: float, domains: tuple[str, ...]) -> float:
        assert probe.depth == 7
        self.domains.append(domains)
        return confidence_min


async def test_the_words_of_a_question_are_its_domains_unless_others_are_given() -> None:
    hive = Asked()
    routed = ByDomain(cast(Hive, hive))
    no_statistics: Any = None
    probe = Probe(("pump", "red"), anchors("pump red"), np.zeros(1, np.float32), 7, no_statistics)
    assert cast(float, await routed.ask(probe, confidence_min=0.5)) == 0.5
    await routed.ask(probe, domains=("sea",))
    assert hive.domains == [("pump", "red"), ("sea",)]
    for name in ("promote", "retract", "write", "fetch", "facts"):
        assert getattr(routed, name) == name


@pytest.mark.parametrize(("topology", "is_routing"), [("flat", False), ("federated", True), ("sharded", False)])
def test_only_a_federated_hive_is_asked_by_domain(tmp_path: Any, topology: str, is_routing: bool) -> None:
    given = config(tmp_path, topology)
    assert plan_of(given, given.nodes[0]).routes_by_domain is is_routing
    without = config(tmp_path, topology, domain_routing=False)
    assert plan_of(without, without.nodes[0]).routes_by_domain is False
