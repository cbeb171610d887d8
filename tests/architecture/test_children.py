"""Tests that can't wait for ever: what they may call, and that a limit ends each of them with all that it began."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
RUN = {"subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output"}
BEGUN_ELSEWHERE = {"subprocess.Popen", "Popen", "os.system", "os.popen"}


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Where, the function, the call; in files that name one of those functions."""
    names = {name.rpartition(".")[2] for name in RUN | BEGUN_ELSEWHERE}
    for file in sorted(set(TESTS.rglob("*.py")) - {TESTS / "servers" / "children.py"}):
        text = file.read_text("utf-8")
        if "subprocess" not in text and not any(name in text for name in names - {"run", "call"}):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                yield f"{file.relative_to(TESTS)}:{node.lineno}", ast.unparse(node.func), node


def test_a_program_that_is_run_has_a_limit():
    unlimited = [f"{place} {name}" for place, name, call in calls() if name in RUN and not has_limit(call)]
    assert not unlimited, "give it `timeout=`"


def has_limit(call: ast.Call) -> bool:
    return any(keyword.arg in ("timeout", None) for keyword in call.keywords)


def test_a_child_process_is_one_that_ends_with_its_test():
    others = [f"{place} {name}" for place, name, _ in calls() if name in BEGUN_ELSEWHERE]
    assert not others, "take `tests.servers.children.Child`"
