"""A hive over every topology."""

import pytest

from hive_mind.hive.graph import InMemoryHiveGraph
from tests.unit.hive.each_topology import TOPOLOGIES
from tests.unit.hive.graph.builders import graph


@pytest.fixture(params=TOPOLOGIES)
def hive(request) -> InMemoryHiveGraph:
    return graph(TOPOLOGIES[request.param]())
