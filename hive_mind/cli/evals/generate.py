"""`hive-mind eval generate`: write a made-up corpus of agents' dialogue with questions, of any size."""

from pathlib import Path
from typing import Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group
from hive_mind.cli.output import show, show_json
from hive_mind.counted import counted

group = Group()


@group.called_as(
    "hive-mind eval generate --turns 1000 --agents 20 --out sets",
    "hive-mind eval generate --turns 100000 --agents 1000 --seed 7 --out sets",
    "hive-mind eval retrieval --dataset jsonl --data sets --method keyword",
    name="generate",
)
def generate_dataset(
    out: Annotated[Path, typer.Option(help="Folder for NAME.corpus.jsonl and NAME.queries.jsonl.")],
    turns: Annotated[int, typer.Option(help="How many turns of dialogue.")] = 1000,
    agents: Annotated[int, typer.Option(help="How many agents say them.")] = 20,
    seed: Annotated[int, typer.Option(help="The same seed gives the same corpus.")] = 1,
    output: options.Output = Format.TEXT,
) -> None:
    """Make up a world that agents talk about for months, with questions whose answers are known, and write it as JSONL.

    docs/data-card.md describes what is in it.
    """
    from hive_mind.evals.datasets.jsonl import write_jsonl
    from hive_mind.evals.generating import generate

    dataset = generate(turns, agents, seed)
    corpus, queries = write_jsonl(dataset, out)
    if output is Format.JSON:
        counts = {"documents": dataset.documents, "questions": dataset.questions}
        show_json({"name": dataset.name, **counts, "corpus": str(corpus), "queries": str(queries)})
        return
    show(f"{corpus}: {dataset.documents} turns")
    show(f"{queries}: {counted(dataset.questions, 'question')}")
