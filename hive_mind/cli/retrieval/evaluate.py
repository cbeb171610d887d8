"""`hive-mind retrieval evaluate`: ask every golden question, and measure what comes back against its labels."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from hive_mind.cli import options
from hive_mind.cli.options import Format, Group
from hive_mind.cli.output import say, show_json, shown_source
from hive_mind.cli.pictures import picture_kind
from hive_mind.cli.retrieval import workspaces
from hive_mind.cli.retrieval.measured import Plot, draw, plain_evaluation, show_evaluation, show_questions

if TYPE_CHECKING:
    from hive_mind.retrieval.files.collection import Split
    from hive_mind.retrieval.files.configuration import RetrievalConfig
    from hive_mind.retrieval.measuring.evaluation import Bench
    from hive_mind.retrieval.measuring.measured import Evaluation


class Questions(StrEnum):
    """Which part of the golden set."""

    ALL = "all"
    TRAIN = "train"
    TEST = "test"

    @property
    def as_split(self) -> "Split | None":
        match self:
            case Questions.TRAIN:
                return "train"
            case Questions.TEST:
                return "test"
            case _:
                return None


Part = Annotated[Questions, typer.Option("--questions", "-q", help="train: those to tune on. test: those held out.")]
Worst = Annotated[int, typer.Option("--worst", min=0, max=10_000, help="Number of questions to list, the worst first.")]


group = Group()


@group.called_as(
    "hive-mind retrieval evaluate v1-naive",
    "hive-mind retrieval evaluate --questions test --plot evaluation.svg",
    "hive-mind retrieval evaluate v1-naive -o json",
)
async def evaluate(
    config: workspaces.Config = "",
    questions: Part = Questions.ALL,
    worst: Worst = 5,
    plot: Plot = None,
    workspace: workspaces.Folder = None,
    embed: options.Embed = None,
    model: options.Model = None,
    output: options.Output = Format.TEXT,
) -> None:
    """Measure a configuration with the golden set.

    nUDCG counts +1 for a relevant document and -1 for a distractor, less the further down, over the best there could be: -1 to 1.
    nDCG beside it does not see distractors. Contamination is the share of shown chunks that come from distractors. The result is
    kept under results/.
    """
    from hive_mind.retrieval.measuring.evaluation import environment, write_results

    kind = picture_kind(plot)
    folder = workspaces.opened(workspace)
    chosen = workspaces.usable(folder, workspaces.config_of(folder, config))
    async with workspaces.bench_for(folder, [chosen], embed, model) as bench:
        measured = await evaluated(bench, chosen, questions)
        file = write_results(folder, measured, environment(bench), datetime.now(UTC))
    if output is Format.JSON:
        show_json(plain_evaluation(measured) | {"file": str(file)})
    else:
        show_evaluation(measured)
        show_questions(measured, worst)
        say(f"kept as {shown_source(str(file.absolute()))}", style="dim")
    draw(plot, kind, [measured])


async def evaluated(bench: "Bench", config: "RetrievalConfig", questions: Questions) -> "Evaluation":
    """The measurements. Deviations from the configuration are named."""
    from hive_mind.retrieval.measuring.evaluation import evaluate

    golden = workspaces.golden_of(bench.workspace, config)
    async with bench.open(config.collection) as index:
        measured = await evaluate(index, config, golden, questions.as_split, bench.progress)
    for note in measured.notes:
        say(f"note: {config.name}: {note}", style="yellow")
    return measured
