"""Files with a worker (`kind: Worker`): read to a `WorkerSpec`, or to all that is wrong with them, each with its line."""

from collections.abc import Collection
from typing import Literal

from pydantic import Field

from hive_mind.errors import WorkerFileError
from hive_mind.forms.form import Form
from hive_mind.forms.reading import in_order, located, read
from hive_mind.goals.part import GoalSection
from hive_mind.runs.graphs.checks import faults
from hive_mind.runs.graphs.spec import WorkerSpec


class WorkerFile(GoalSection):
    """A worker: what it does, in which order, and what its work is judged by."""

    api_version: Literal["hive-mind/v1"] = Field(description="The version of this form.")
    kind: Literal["Worker"] = Field(description="What the file describes.")
    spec: WorkerSpec


WORKER = Form(
    "worker",
    WorkerFile,
    begin="begin with `hive-mind worker show incident-review`",
    help="hive-mind worker explain",
    levels="six",
)


def worker_of(text: str, file: str = "worker", tools: Collection[str] | None = None) -> WorkerSpec:
    """The worker in the text of such a file. `tools`: those there are, if that is known. Raises `WorkerFileError`."""
    found = read(text, WORKER)
    if found.value is None or found.tree is None:
        raise WorkerFileError(found.problems, file)
    wrong = [located(one, found.tree, WORKER) for one in faults(found.value.spec, tools)]
    if wrong:
        raise WorkerFileError(in_order(wrong), file)
    return found.value.spec
