"""A place to deploy in, with four configurations of which it is known how good they are."""

import asyncio
from datetime import UTC, datetime

from hive_mind.retrieval.deployment import Order, deploy, read_history
from tests.unit.retrieval.measurements import Ranked, bench, config

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
KEYWORD = {"retrieval": {"method": "keyword"}}
NAIVE = config("naive", **KEYWORD, deduplicate="none")
GOOD = config("good", **KEYWORD, deduplicate="content")
BEST = config("best", **KEYWORD, deduplicate="document")
WORSE = config("worse", retrieval={"method": "keyword", "top_k": 12})
ANSWERS = {"naive": "DrE", "good": "rD", "best": "rst", "worse": "DE"}


def place_in(folder):
    return bench(folder, Ranked(ANSWERS), NAIVE, GOOD, BEST, WORSE)


def put(place, name, by="ines", why="", force=False, now=NOON):
    return asyncio.run(deploy(place, Order(name, by, why, force), now))


def names(place):
    return [(one.what, one.config) for one in read_history(place.workspace.history_file)]
