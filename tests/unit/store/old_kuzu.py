"""Databases as older versions left them, made by raw Cypher in a process of its own that ends as theirs did.

`python -m tests.unit.store.old_kuzu FILE VERSION FACTS REVISIONS closed|killed` makes one.
"""

import json
import os
import subprocess
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import kuzu
import numpy as np

from hive_mind.model.content import Episode
from hive_mind.model.fact import Fact, Relation
from hive_mind.model.ids import entity_id, episode_id, fact_id

MODEL, VERSIONS = "bag-of-words", (1, 2)
_TABLES = (
    "CREATE NODE TABLE Memory(id STRING PRIMARY KEY, kind STRING, seq INT64, confidence DOUBLE, learned_at_us INT64, "
    "content STRING, concept STRING, sources STRING, said_at STRING, speaker STRING, before STRING, entities STRING, "
    "labels STRING, sharing STRING, superseded_by STRING, title STRING, summary STRING)",
    "CREATE NODE TABLE Meta(key STRING PRIMARY KEY, seq INT64, model STRING, value STRING)",
    *(f"CREATE REL TABLE {relation}(FROM Memory TO Memory)" for relation in Relation),
)
_SECOND_VERSION = ("ALTER TABLE Memory ADD held_back STRING DEFAULT ''", "ALTER TABLE Memory ADD offered STRING DEFAULT '[]'")

EPISODE = Episode(
    episode_id("Round of Monday", "log.md"), "Round of Monday", "log.md", "2026-11-02", 7, title="Rounds", summary="Fine"
)
ENTITY = entity_id("Pump D4")


def fact(number: int, revisions: int = 0) -> Fact:
    content = f"Pump {number} ran {number * 7} hours – «gut», 東京."
    fields = {"said_at": "2026-11-02", "speaker": "Ines", "before": "Rounds", "entities": ("Pump D4",), "labels": ("rounds",)}
    sources = ("log.md", f"round {revisions}") if revisions else ("log.md",)
    return Fact(fact_id(content), content, "pumps", 0.75, sources, 10 + number, **fields)


def vector(number: int) -> "np.ndarray[Any, np.dtype[np.float16]]":
    return np.full(8, number % 50, np.float16)


def made(path: Path, *, version: int = 2, facts: int = 20, revisions: int = 0, is_killed: bool = False) -> Path:
    """A database at `path`; its facts were revised so many times in turn since the last checkpoint."""
    command = [sys.executable, "-m", "tests.unit.store.old_kuzu", str(path), str(version), str(facts), str(revisions)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([*command, "killed" if is_killed else "closed"], check=True, timeout=100, env=environment)
    return path


def _row(one: Fact) -> dict[str, Any]:
    lists = {name: json.dumps(getattr(one, name)) for name in ("sources", "entities", "labels")}
    plain = ("id", "content", "concept", "said_at", "speaker", "before", "superseded_by", "confidence", "learned_at_us")
    return {name: getattr(one, name) for name in plain} | lists | {"sharing": one.sharing.value}


class _Old:
    def __init__(self, path: str) -> None:
        self._database = kuzu.Database(path, auto_checkpoint=False, max_num_threads=1)
        self._connection = kuzu.Connection(self._database)

    def run(self, query: str, **parameters: Any) -> None:
        self._connection.execute(query, parameters)

    def fill(self, version: int, facts: int) -> None:
        for statement in (*_TABLES, *(_SECOND_VERSION if version == 2 else ())):
            self.run(statement)
        self._value("schema:version", str(version))
        self._value("named:embedding.model", MODEL)
        self._node(kind="episode", id=EPISODE.id, content=EPISODE.text, sources='["log.md"]', said_at=EPISODE.said_at,
                   learned_at_us=EPISODE.learned_at_us, title=EPISODE.title, summary=EPISODE.summary)  # fmt: skip
        self._node(kind="entity", id=ENTITY, content="Pump D4")
        for number in range(facts):
            self._fact(fact(number), vector(number))

    def revise(self, times: int, facts: int) -> None:
        """As confirming facts again and again does: each time costs Kuzu memory when it reads its log again."""
        for number in range(1, times + 1):
            revised = fact(number % facts, number)
            row = {name: value for name, value in _row(revised).items() if name not in ("id", "content")}
            assigned = ", ".join(f"m.{name} = ${name}" for name in row)
            self.run(f"MATCH (m:Memory {{id: $id}}) SET {assigned}", id=revised.id, **row)

    def close(self) -> None:
        self._connection.close()
        self._database.close()

    def _fact(self, one: Fact, numbers: "np.ndarray[Any, np.dtype[np.float16]]") -> None:
        self._node(kind="fact", **_row(one))
        for relation, end in ((Relation.DERIVES_FROM, EPISODE.id), (Relation.MENTIONS, ENTITY)):
            self.run(f"MATCH (a:Memory {{id: $a}}), (b:Memory {{id: $b}}) CREATE (a)-[:{relation}]->(b)", a=one.id, b=end)
        self._value(f"vector:{len(MODEL)}:{MODEL}:{one.id}", b64encode(numbers.tobytes()).decode(), MODEL)

    def _node(self, **given: Any) -> None:
        blank = dict.fromkeys(("concept", "said_at", "speaker", "before", "sharing", "superseded_by", "title", "summary"), "")
        row = {
            **blank,
            "sources": "[]",
            "entities": "[]",
            "labels": "[]",
            "confidence": 0.0,
            "learned_at_us": 0,
            "seq": 0,
        } | given
        self.run(f"CREATE (:Memory {{{', '.join(f'{name}: ${name}' for name in row)}}})", **row)

    def _value(self, key: str, value: str, model: str = "") -> None:
        self.run("CREATE (:Meta {key: $key, seq: 0, model: $model, value: $value})", key=key, value=value, model=model)


def main(path: str, version: str, facts: str, revisions: str, end: str) -> None:
    old = _Old(path)
    old.fill(int(version), int(facts))
    if int(revisions):
        old.run("CHECKPOINT")
        old.revise(int(revisions), int(facts))
    if end == "killed":
        os._exit(0)
    old.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
