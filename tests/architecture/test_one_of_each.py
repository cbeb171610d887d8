"""What stands once: a second client, a second verdict or a wider bus would be the same design written again."""

import ast
import builtins
import sys

import pytest

from hive_mind import FleetPlan, Settings, open_fleet
from hive_mind.bus import BusAdmin, EventBus
from hive_mind.embed.none import NoEmbedder
from hive_mind.hive.effects import Effect, Event, Now, Received
from hive_mind.hive.node import HiveNode
from hive_mind.memory.gate import PromotionSettings
from tests.architecture.test_rules import SOURCES


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
    assert clients() == {"OpenedAgent", "ProcessAgent"}


def test_a_bus_carries_and_what_lies_on_it_is_for_its_admin() -> None:
    assert members_of(EventBus) == {"capabilities", "health", "publish", "subscribe", "watch", "close"}
    assert members_of(BusAdmin) == {"queues", "dead_letters", "drop"}


def test_one_module_ranks_what_others_gather_for_a_question() -> None:
    """`ranking/question.py`: for a memory, a hive, a graph of one process and an indexed folder alike."""
    ranking = {source.path.name for source in SOURCES if "hive_mind.ranking.pipeline.rank" in source.imports}

    assert ranking == {"question.py"}


def test_errors_of_the_system_are_put_into_words_by_two_functions() -> None:
    """`reason_of` and `sentence_of`: an `OSError` itself says its number, and its path a second time."""
    handlers = [
        (source, node)
        for source in SOURCES
        for node in source.nodes
        if isinstance(node, ast.ExceptHandler) and _is_of_system(node)
    ]
    assert len(handlers) > 50
    assert [f"{source.path.name}:{handler.lineno}" for source, handler in handlers if _is_worded(handler)] == []


def _is_of_system(handler: ast.ExceptHandler) -> bool:
    names = [node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)] if handler.type and handler.name else []
    return any(issubclass(getattr(builtins, name, int), OSError) for name in names)


def _is_worded(handler: ast.ExceptHandler) -> bool:
    """Whether its error, or what it has for an error of the system alone, goes into a text as it is."""
    texts = [node.value for node in ast.walk(handler) if isinstance(node, ast.FormattedValue)]
    calls = [node for node in ast.walk(handler) if isinstance(node, ast.Call)]
    texts += [argument for call in calls if ast.unparse(call.func).startswith(("str", "_log.")) for argument in call.args]
    return any(ast.unparse(text).split(" or ")[0] in (handler.name, f"{handler.name}.strerror") for text in texts)


def test_evaluations_retrieval_and_the_gate_of_a_fleet_work_out_paired_differences_by_one_function() -> None:
    """`metric_changes`: with intervals, chance, Holm's correction over all that is compared, and one verdict in a word."""
    others = [source.path.name for source in SOURCES if "hive_mind.measure.differences" in source.imports]

    assert others == []


def test_a_verdict_of_any_gate_is_grounds_of_one_form() -> None:
    """`eval gate`, `apply --gate` and `retrieval deploy` refuse by it; its form is in `measure/__init__.py`."""
    classes = [(source.path.name, node) for source in SOURCES for node in source.nodes if isinstance(node, ast.ClassDef)]

    assert [file for file, node in classes if node.name == "Ground"] == ["__init__.py"]
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


def test_copies_lie_in_folders_that_the_next_one_removes_where_their_process_was_killed() -> None:
    """Among the system's temporary files a copy of a memory would stay for ever, and no erasing would find it."""
    lasting = {"mkdtemp", "mkstemp", "TemporaryDirectory", "NamedTemporaryFile"}
    makers = {
        source.path.name
        for source in SOURCES
        for node in source.nodes
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in lasting
    }

    assert makers == {"safe_files.py"}


def test_only_the_host_opens_nodes_and_the_simulations_that_carry_them_out_themselves() -> None:
    """Resettlement and document 004's graph have nodes that are on no bus."""
    assert users_of("NodeRunner") == {"host.py"}
    assert users_of("RunningMember") == {"host.py"}
    assert users_of("HiveNode") == {"host.py", "resettlement.py", "graph.py", "simulated.py"}


def users_of(name: str) -> set[str]:
    """Files in which something of this class is made."""
    return {
        source.path.name
        for source in SOURCES
        for node in source.nodes
        if isinstance(node, ast.Call) and ast.unparse(node.func) == name
    }


OWNERS_MAX = 3
ROOMS = ("hive_mind.runtime.", "hive_mind.hive.")


async def test_at_most_three_objects_stand_between_a_host_and_its_node_when_a_message_comes_and_when_an_agent_shares(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of all whose methods wait for the node: from the runner's task, or from the agent's memory, which is not the host's."""
    stations: dict[str, set[str]] = {}
    handle = HiveNode.handle

    def noted(self: HiveNode, event: Event, now: Now) -> list[Effect]:
        subject = type(event.message).__name__ if isinstance(event, Received) else type(event).__name__
        stations.setdefault(subject, _objects_on_the_way_here())
        return handle(self, event, now)

    monkeypatch.setattr(HiveNode, "handle", noted)
    plan = FleetPlan("sharded", ("ada", "ben"), replicas=2, gate=PromotionSettings(is_open=True))
    async with await open_fleet(Settings(store="memory"), plan, NoEmbedder()) as fleet:
        await fleet.memory("ada").store_fact("pump", "The pump is red.")
        await fleet.settled()

    assert stations["Promote"] == {"NodeRunner", "Member"}
    assert stations["Replicate"] == {"NodeRunner", "Intake", "Member"}
    assert max(map(len, stations.values())) <= OWNERS_MAX


def _objects_on_the_way_here() -> set[str]:
    """Classes of the objects of `runtime` and `hive` whose methods are under way."""
    classes, frame = set[str](), sys._getframe(2)
    while frame is not None:
        if "self" in frame.f_locals and str(frame.f_globals.get("__name__")).startswith(ROOMS):
            classes.add(type(frame.f_locals["self"]).__name__)
        frame = frame.f_back
    return classes
