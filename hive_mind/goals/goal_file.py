"""Files with a goal (`kind: Goal`): read to a `Goal`, or to all that is wrong with them, each with its line and what to do.

The first goal somebody writes: a commented file that is right as it is, with one example of each kind of check.
"""

from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from hive_mind.errors import GoalError, Problem
from hive_mind.forms.form import Form
from hive_mind.forms.reading import in_order, located, read
from hive_mind.forms.tree import Finding, Path, Tree, spelled
from hive_mind.goals.goal import Goal

_LISTS = ("successCriteria", "constraints")

_FIRST = """\
# A goal: what is wanted, and what must not happen. Check it with: hive-mind file validate {file}
# All that can stand here: hive-mind file explain goal
apiVersion: hive-mind/v1
kind: Goal
spec:
  id: {id}
  description: Say in a few sentences what is wanted.

  # How much of it is reached is the sum of what is met, by weight.
  successCriteria:
    - id: useful
      description: The summary answers the question, and names what is not known.
      weight: 2              # twice as much as each of the others
      metric: llm_judge      # a model or a person grades it
    - id: cites-sources
      metric: output_contains
      output: summary        # left out: all outputs, as one text
      target: "[1]"
    - id: short
      metric: condition      # a question to the outputs, in a part of Python
      target: len(output.summary) < 2000

  # Limits that no success makes up for. hard: nothing is accepted over it. soft: it is noted.
  constraints:
    - id: no-passwords
      description: No password in the logs.
      category: security
      check: "'password' not in str(result.get('logs', ''))"   # true as long as it is kept
    - id: polite
      constraintType: soft
      description: The tone is friendly.    # without a check: a model or a person says whether it is kept

  # Knowledge for worker and judge: facts of the field, preferences.
  context:
    audience: people who are new to it

  outputs: [summary, logs]
  acceptAt: 0.9              # reached from this score on
"""


class GoalFile(BaseModel):
    """The goal of a run, its constraints, and how both are checked."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)

    api_version: Literal["hive-mind/v1"] = Field(description="The version of this form.")
    kind: Literal["Goal"] = Field(description="The kind of the file.")
    spec: Goal


GOAL = Form(
    "goal",
    GoalFile,
    begin="begin with `hive-mind file init goal`",
    help="hive-mind file explain goal",
    # The values of `context` and `target` may be deep; the rest has four levels.
    levels="four",
)


def goal_of(text: str, file: str = "goal") -> Goal:
    """The goal in the text of such a file. Raises `GoalError`."""
    found_read = read(text, GOAL)
    if found_read.value is None:
        raise GoalError(_exact(found_read.problems, found_read.tree), file)
    return found_read.value.spec


def _exact(problems: tuple[Problem, ...], tree: Tree | None) -> tuple[Problem, ...]:
    """With the line of each repeated id, instead of that of its list."""
    repeated = tuple(_repeated(tree)) if tree else ()
    lists = {problem.path.partition("[")[0] for problem in repeated}
    return in_order([*(problem for problem in problems if problem.path not in lists), *repeated])


def _repeated(tree: Tree) -> Iterator[Problem]:
    """A grade is given by id alone, so criteria and constraints share their names."""
    places_by_name: dict[str, str] = {}
    for place in _ids(tree):
        name = tree.at(place)[0].value
        if isinstance(name, str) and places_by_name.setdefault(name, spelled(place[:-1])) != spelled(place[:-1]):
            yield located(Finding(place, f"is also the id of {places_by_name[name]}; choose another"), tree, GOAL)


def _ids(tree: Tree) -> Iterator[Path]:
    criteria, way = tree.at(("spec", "successCriteria"))
    if len(way) < 2 or not criteria.parts:
        # The goal is then its own and only criterion.
        yield ("spec", "id")
    for name in _LISTS:
        parts, _ = tree.at(("spec", name))
        for number in range(len(parts.value) if isinstance(parts.value, list) else 0):
            place = ("spec", name, number, "id")
            if tree.at(place)[1] == place:
                yield place


def first_goal(name: str, file: str) -> str:
    """The text of a file that begins a goal."""
    return _FIRST.format(id=name, file=file)
