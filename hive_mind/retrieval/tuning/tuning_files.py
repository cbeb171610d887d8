"""What tuning leaves behind: one configuration file per step, with its reason and its figures as a comment, and one for the best.

Each is written before it is measured and again after, whole or not at all, so that a stop at any moment leaves nothing half done.
"""

import re
from collections.abc import Iterable

from hive_mind.errors import InvalidInput
from hive_mind.regex import regex
from hive_mind.retrieval.files.changing import text_of
from hive_mind.retrieval.files.configuration import NAME, RetrievalConfig
from hive_mind.retrieval.files.workspace import Workspace
from hive_mind.retrieval.files.writing import write_whole
from hive_mind.retrieval.tuning.tuner import TOP, Step

_REASON_MAX = 500
_NUMBERED = regex(r"-\d{3,}$")


def check_name(workspace: Workspace, name: str) -> None:
    """Raises `InvalidInput` for a name that can't be a file's, or whose file exists: nothing is overwritten."""
    if not re.match(NAME, f"{name}-000") or _NUMBERED.search(name):
        raise InvalidInput(f"{name[:70]!r} can't be used: take up to 60 letters, digits, '.', '_' and '-', not ending like -001")
    if workspace.config_file(name).exists():
        raise InvalidInput(f"there is a configuration {name} already, and nothing is overwritten: choose another name")


def free_name(workspace: Workspace, start: str) -> str:
    """A name for what is tuned from `start` that nobody has yet."""
    base = f"{start[:50]}-tuned"
    taken = set(workspace.configs())
    return base if base not in taken else next(f"{base}{n}" for n in range(2, len(taken) + 3) if f"{base}{n}" not in taken)


def step_name(workspace: Workspace, name: str, number: int) -> str:
    """The name of a step, past those that an interrupted tuning left."""
    taken = [int(one[len(name) + 1 :]) for one in workspace.configs() if re.fullmatch(rf"{re.escape(name)}-\d{{3,}}", one)]
    return f"{name}-{max([number, *(one + 1 for one in taken)]):03d}"


def write_planned(workspace: Workspace, config: RetrievalConfig, origin: str, reason: str) -> None:
    """The file of a step that is about to be measured."""
    _write(workspace, config, [origin, f"Why: {reason}"])


def write_measured(workspace: Workspace, step: Step, start: Step, origin: str) -> None:
    """The same with what came of it."""
    _write(workspace, step.config, [origin, f"Why: {step.reason}", _figures(step, start)])


def write_best(workspace: Workspace, name: str, best: Step, start: Step, origin: str) -> None:
    """The best so far, under the name that was asked for."""
    config = best.config.model_copy(update={"name": name})
    _write(workspace, config, [f"{origin} The best so far: {best.config.name}.", f"Why: {best.reason}", _figures(best, start)])


def one_line(reason: str) -> str:
    """A reason as it can stand in a comment."""
    line = " ".join("".join(c if c.isprintable() else " " for c in reason).split())
    return line if len(line) <= _REASON_MAX else line[: _REASON_MAX - 1] + "…"


def _figures(step: Step, start: Step) -> str:
    return (
        f"Measured with {len(step.measured.rows)} training questions: nUDCG {step.nudcg:.3f} after {start.nudcg:.3f}, "
        f"distractors in the first {TOP} {step.misleading} after {start.misleading}."
    )


def _write(workspace: Workspace, config: RetrievalConfig, remarks: Iterable[str]) -> None:
    head = "".join(f"// {one_line(remark)}\n" for remark in remarks)
    write_whole(workspace.config_file(config.name), f"{head}{text_of(config)}\n")
