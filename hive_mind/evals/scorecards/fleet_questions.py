"""A question file as an experiment over what a fleet knows: its questions, asked of all facts of all its agents.

Facts are read as they are at this moment, whether the fleet runs or not, and put down beside the runs: both sides of a gate are
asked about the same.
"""

from collections.abc import Sequence
from pathlib import Path

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.files import read_json
from hive_mind.evals.experiments.values import Arm, DataSource, Experiment
from hive_mind.memory.transfer import line_of
from hive_mind.model.fact import Fact
from hive_mind.runtime.files import write_whole
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import kept_facts

_FACTS = "facts.jsonl"


def is_question_file(path: Path) -> bool:
    """Whether a file is document 003's, and no experiment."""
    if path.suffix != ".json" or not path.is_file():
        return False
    value = read_json(path)
    return isinstance(value, dict) and isinstance(value.get("questions"), list) and "data" not in value


def questions_asked(questions: Path, agents: Sequence[str], folder: Path, settings: Settings) -> Experiment:
    """The experiment; its data are written into the folder. Raises `InvalidInput` where the agents know nothing yet."""
    known: dict[str, Fact] = {}
    for agent in agents:
        known |= {fact.id: fact for fact in kept_facts(settings, agent) if fact.is_current}
    if not known:
        raise InvalidInput(f"{questions}: its questions are asked of what the fleet's agents know, and that is nothing yet")
    folder.mkdir(parents=True, exist_ok=True)
    lines = (f"{line_of(fact)}\n" for fact in sorted(known.values(), key=lambda fact: (fact.learned_at_us, fact.id)))
    write_whole(folder / _FACTS, "".join(lines).encode())
    return Experiment("questions", (DataSource("fleet", "auto", folder / _FACTS, questions=questions.absolute()),), (Arm(),))
