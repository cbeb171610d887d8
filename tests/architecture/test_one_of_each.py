"""What stands once: a second client, a second verdict or a wider bus would be the same design written again."""

import ast

from hive_mind.bus.base import BusAdmin, EventBus
from tests.architecture.test_rules import SOURCES

CLIENTS = {"OpenedAgent", "ProcessAgent"}


def clients() -> set[str]:
    """Classes with a method by which an agent is asked: the request's name, then its fields by name."""
    return {
        node.name
        for source in SOURCES
        for node in source.nodes
        if isinstance(node, ast.ClassDef) and not any(ast.unparse(base).endswith("Protocol") for base in node.bases)
        for method in node.body
        if isinstance(method, ast.AsyncFunctionDef) and method.name == "call" and _asks(method.args)
    }


def _asks(arguments: ast.arguments) -> bool:
    first = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)][1:2]
    return first == ["request"] and arguments.kwarg is not None


def members_of(protocol: type) -> set[str]:
    return {name for name in vars(protocol) if not name.startswith("_")}


def test_an_agent_has_two_clients_one_in_this_process_and_one_over_http() -> None:
    assert clients() == CLIENTS


def test_a_bus_carries_and_what_lies_on_it_is_for_its_admin() -> None:
    assert members_of(EventBus) == {"capabilities", "health", "publish", "subscribe", "watch", "close"}
    assert members_of(BusAdmin) == {"queues", "dead_letters", "drop"}


def test_one_module_ranks_what_others_gather_for_a_question() -> None:
    """`ranking/question.py`: for a memory, a hive, a graph of one process and an indexed folder alike."""
    ranking = {source.path.name for source in SOURCES if "hive_mind.ranking.pipeline.rank" in source.imports}

    assert ranking == {"question.py"}


def test_evaluations_retrieval_and_the_gate_of_a_fleet_work_out_paired_differences_by_one_function() -> None:
    """`metric_changes`: with intervals, chance, Holm's correction over all that is compared, and one verdict in a word."""
    others = [source.path.name for source in SOURCES if "hive_mind.measure.differences.differences" in source.imports]

    assert others == []


def test_a_verdict_of_any_gate_is_grounds_of_one_form() -> None:
    """`eval gate`, `apply --gate` and `retrieval deploy` refuse by it; its form is in `measure/differences.py`."""
    classes = [(source.path.name, node) for source in SOURCES for node in source.nodes if isinstance(node, ast.ClassDef)]

    assert [file for file, node in classes if node.name == "Ground"] == ["differences.py"]
    assert {file for file, node in classes if "Verdict" in map(ast.unparse, node.bases)} == {"gating.py", "verdict.py"}


def test_decoders_are_made_in_one_place() -> None:
    """Elsewhere two threads could make the first one of a type at once."""
    made = {"msgspec.convert", "msgspec.json.Decoder", "msgspec.msgpack.Decoder"}
    made_to_read_once = {"msgspec.json.decode", "msgspec.msgpack.decode"}
    others = {
        source.path.name
        for source in SOURCES
        for node in source.nodes
        if isinstance(node, ast.Call)
        and (
            ast.unparse(node.func) in made
            or (ast.unparse(node.func) in made_to_read_once and "type" in {keyword.arg for keyword in node.keywords})
        )
    }

    assert others == {"decoding.py"}
