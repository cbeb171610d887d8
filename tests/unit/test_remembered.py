"""What functions remember of texts is in one register, so that an erasure drops all of it."""

import ast
from pathlib import Path

import hive_mind
from hive_mind.agents.agent import LearningAgent
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.memory.erased_from import erase_from
from hive_mind.model.erasure import erasure_of
from hive_mind.remembered import forget_texts, remembered, remembered_texts
from tests.builders import Home

PACKAGE = Path(hive_mind.__file__).parent
# Of names of this program, members, files and settings, of numbers and digests: no text that anybody said follows from those.
OF_NO_TEXT = {
    "agents/runs/__init__.py",
    "backends.py",
    "bus/__init__.py",
    "bus/redis/keys.py",
    "cli/app.py",
    "cli/running.py",
    "cognition/__init__.py",
    "console/visit.py",
    "control/planning/desired.py",
    "evals/generating/world.py",
    "evals/report/__init__.py",
    "hive/replication/partition_content.py",
    "hive/topology/sharded.py",
    "identity/epochs.py",
    "installation.py",
    "memory/reranking.py",
    "model/decoding.py",
    "model/evidence.py",
    "ornament.py",
    "ranking/inverted.py",
    "ranking/tokens.py",
    "remembered.py",
    "runtime/texts/document.py",
    "sqlite/file.py",
}


def keeps_by_itself(path: Path) -> bool:
    """Whether a file remembers results outside of the register."""
    text = path.read_text("utf-8")
    if "functools" not in text:
        return False
    imports = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom | ast.Import))
    names = {(getattr(node, "module", ""), alias.name) for node in imports for alias in node.names}
    return bool(names & {("functools", "lru_cache"), ("functools", "cache"), ("", "functools")})


def test_a_function_over_texts_is_remembered_in_the_register() -> None:
    keeping = {str(path.relative_to(PACKAGE)) for path in sorted(PACKAGE.rglob("*.py")) if keeps_by_itself(path)}
    others = keeping ^ OF_NO_TEXT
    assert not others, f"over texts? then `remembered`; else name it in OF_NO_TEXT: {sorted(others)}"


def test_what_is_in_the_register_is_forgotten() -> None:
    seen: list[str] = []

    @remembered(8)
    def shown(text: str) -> str:
        seen.append(text)
        return text

    assert (shown("red"), shown("red"), seen) == ("red", "red", ["red"])
    forget_texts()
    assert (shown("red"), seen) == ("red", ["red", "red"])


async def test_an_erasure_leaves_nothing_remembered() -> None:
    async with Home().memory() as memory:
        agent = LearningAgent("ada", memory, ExtractiveReader())
        await agent.learn_from_content("The flow of pump D40-Q7 is 12 l/min. The gauge has 5 bar. | valve | red |")
        for question in ("What is the flow of pump D40-Q7?", "Who is in charge of the gauge?", "What is a valve?"):
            await agent.answer_question(question)
        assert remembered_texts() > 0
        await erase_from(memory, [erasure_of("subject", "pump")], 1)
        assert remembered_texts() == 0
