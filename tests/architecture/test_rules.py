"""The three rules of ARCHITECTURE.md, read from there and checked on every file: one test per rule, which lists all offenders."""

import ast
import gc
import re
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from hive_mind.backends import known
from hive_mind.hive.topology.spec import NAMES as TOPOLOGIES

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "hive_mind"
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
PURE = (
    *(
        "model",
        "ranking",
        "crdt",
        "measure",
        "goals",
        "judge",
        "runs",
        "hive",
        "sim",
        "memory/intake.py",
        "memory/gate/promotion.py",
    ),
    *("control/planning", "control/manifests/expansion.py", "credentials/redaction.py"),
)
WORLD = {"time", "os", "random", "socket", "threading", "asyncio", "subprocess", "pathlib", "logging", "datetime"}
LOCKS = {"threading.Lock", "threading.RLock", "threading.local"}
LOADERS = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle"}
RUNNERS = {"eval", "exec", "compile", "__import__"}
ASKS = re.compile(r"_?(is_|refusal|reason_|why)")
CHANGES = {
    *("add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"),
    "learn",
    "revoke",
}
BYTES_MAX = 10_000
LINES_MAX = 450
FILES_MAX = 20
FUNCTION_LINES_MAX = 60
PARAMETERS_MAX = 8
NAMESAKES_MAX = 3


@dataclass(frozen=True)
class Source:
    """A file of the package, parsed once."""

    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> frozenset[str]:
        """Modules and what is taken from them, wherever it is imported: also inside functions and under TYPE_CHECKING."""
        return frozenset(imported(self.nodes))

    @property
    def name(self) -> str:
        return str(self.path.relative_to(PACKAGE))

    @property
    def package(self) -> str:
        return self.path.relative_to(PACKAGE).parts[0].removesuffix(".py")

    @property
    def module(self) -> str:
        return ".".join(self.path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def layers() -> list[set[str]]:
    block = ARCHITECTURE.split("<!-- layers -->")[1].split("<!-- /layers -->")[0]
    return [{name.strip() for name in line.split("|")} for line in block.strip().splitlines()]


@pytest.fixture(scope="module", autouse=True)
def _uncollected() -> Iterator[None]:
    """A million nodes of syntax trees stay, and are not gone through again and again while more are made."""
    gc.disable()
    yield
    gc.enable()


SOURCES = [Source(path) for path in sorted(PACKAGE.rglob("*.py"))]
LEVEL = {name: level for level, names in enumerate(layers()) for name in names}


def test_every_package_has_a_place_in_the_layers():
    assert {path.name for path in PACKAGE.iterdir() if path.is_dir() and list(path.glob("*.py"))} == set(LEVEL)


def test_the_architecture_is_read_in_a_quarter_of_an_hour():
    assert len(ARCHITECTURE.encode()) <= BYTES_MAX


def test_a_question_leads_to_few_files_that_have_what_it_names():
    table = ARCHITECTURE.split("## Where to begin reading")[1].split("## Three rules")[0]
    rows = [row for row in table.splitlines() if row.startswith("| ") and not row.startswith("| question")]
    texts = {source.name: source.text for source in SOURCES}

    assert [row for row in rows if not 1 <= len(re.findall(r"`[\w/]+\.py`", row)) <= 4] == []
    named = re.findall(r"`([\w/]+\.py)` \(`(\w+)`|`([\w/]+\.py)`", table)
    for path, name, alone in named:
        assert re.search(rf"(?:def|class) {name}\b" if name else "", texts[path or alone]), (path or alone, name)


def test_imports_point_down():
    assert [
        f"{source.name} imports {module}" for source in SOURCES for module in source.imports if points_up(source, module)
    ] == []


def points_up(source: Source, module: str) -> bool:
    """Or sideways; or stands where nothing may be imported from a layer."""
    target = re.match(r"hive_mind\.(\w+)", module)
    if target is None or target[1] == source.package or target[1] not in LEVEL:
        return False
    if source.package not in LEVEL:
        return source.package not in {"__init__", "__main__", "public"}
    return LEVEL[target[1]] <= LEVEL[source.package]


def test_no_module_imports_itself_through_others():
    assert circle({source.module: source.nodes for source in SOURCES}) == []


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ({"a": "import b", "b": "import c, json", "c": ""}, []),
        ({"a": "from a.b import c", "a.b": "", "a.c": "from a import b"}, []),
        ({"a": "import b", "b": "def f():\n    from c import g", "c": "if TYPE_CHECKING:\n    import a"}, ["a", "b", "c"]),
    ],
)
def test_a_circle_of_imports_is_seen(texts, found):
    assert sorted(set(circle({name: list(ast.walk(ast.parse(text))) for name, text in texts.items()}))) == found


def circle(files: dict[str, list[ast.AST]]) -> list[str]:
    """The modules of one circle, the first again at its end; none where there is no circle."""
    graph = {name: set(targets(nodes, files.keys())) - {name} for name, nodes in files.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def targets(nodes: list[ast.AST], modules: Set[str]) -> Iterator[str]:
    """Modules that a file names. A package whose module is imported is run too, but a public name there is no dependency."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from {name if name in modules else str(node.module) for name in names} & modules
        elif isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & modules


def test_nobody_imports_a_back_end():
    assert [
        f"{source.name} imports {module}" for source in SOURCES for module in source.imports if is_back_end(source, module)
    ] == []


def is_back_end(source: Source, module: str) -> bool:
    found = re.match(r"hive_mind\.(store|embed|ann|llm|journal|ledger|bus|credentials)\.(\w+)", module)
    return bool(found and found[1] != source.package and found[2] in known(found[1]))


def test_pure_files_touch_no_world():
    pure = [source for source in SOURCES if source.name.startswith(PURE)]
    assert len(pure) > 100
    assert {source.name: touched for source in pure if (touched := sorted(world_of(source)))} == {}


def world_of(source: Source) -> Iterator[str]:
    """What a pure file must not have. A lock and what is a thread's own start no thread."""
    yield from {module.partition(".")[0] for module in source.imports} & (WORLD - {"threading"})
    yield from {name for name in source.imports if name.startswith("threading.")} - LOCKS
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "threading" and f"threading.{node.attr}" not in LOCKS:
            yield f"threading.{node.attr}"
        if isinstance(node, ast.AsyncFunctionDef | ast.Await):
            yield f"await or async in line {node.lineno}"


def test_files_and_functions_stay_short():
    assert {source.name: lines for source in SOURCES if (lines := source.text.count("\n")) > LINES_MAX} == {}
    assert [f"{source.name}: {name}" for source in SOURCES for name in long_functions(source)] == []


def long_functions(source: Source) -> list[str]:
    functions = [node for node in source.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [one.name for one in functions if (one.end_lineno or 0) - one.lineno > FUNCTION_LINES_MAX]


def test_a_function_with_many_parameters_gets_a_value():
    # A command's parameters are its options.
    sources = [source for source in SOURCES if not source.name.startswith("cli/")]
    assert [f"{source.name}: {name}" for source in sources for name in functions_with_many_parameters(source)] == []


def functions_with_many_parameters(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            if len(given) - (given[:1] in (["self"], ["cls"])) > PARAMETERS_MAX:
                yield node.name


def test_folders_show_what_is_in_them():
    folders = Counter(str(source.path.parent.relative_to(PACKAGE)) for source in SOURCES if source.path.name != "__init__.py")
    assert {name: count for name, count in folders.items() if count > FILES_MAX} == {}


def test_a_name_means_one_thing():
    classes = [node.name for source in SOURCES for node in source.tree.body if isinstance(node, ast.ClassDef)]
    named = Counter(name for name in classes if not name.startswith("_"))
    assert {name: count for name, count in named.items() if count > NAMESAKES_MAX} == {}


def test_a_tuple_with_names_stays_in_its_file():
    public = [
        f"{source.name}: {one.name}"
        for source in SOURCES
        for one in source.nodes
        if isinstance(one, ast.ClassDef) and not one.name.startswith("_") and "NamedTuple" in map(ast.unparse, one.bases)
    ]
    assert not public, "a msgspec.Struct on the wire and on disk, a frozen dataclass inside (CONTRIBUTING.md)"


def test_only_the_settings_read_the_environment():
    readers = {source.name for source in SOURCES if re.search(r"os\.(environ|getenv)", source.text)}

    # They set defaults for a library before it is imported; they read nothing.
    assert readers - {"__main__.py", "embed/sentence_transformers.py", "ann/__init__.py"} == {"runtime/settings.py"}


def test_no_file_loads_what_can_run():
    found = [(source.name, node) for source in SOURCES for node in source.nodes if names_what_runs(node)]
    assert [f"{name}: {ast.unparse(node)}" for name, node in found] == []


def names_what_runs(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.partition(".")[0] in LOADERS for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").partition(".")[0] in LOADERS
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        allows = any(one.arg == "allow_pickle" and ast.unparse(one.value) != "False" for one in node.keywords)
        return called in RUNNERS or called in {"yaml.load", "yaml.unsafe_load", "yaml.full_load"} or allows
    return False


def test_who_watches_runs_knows_nothing_of_them_but_the_reader_of_their_journals():
    (watcher,) = [source for source in SOURCES if source.name == "agents/watcher.py"]
    harmless = ("hive_mind.clocks", "hive_mind.errors", "hive_mind.judge.", "hive_mind.ledger", "hive_mind.model.")
    journals = {f"hive_mind.agents.runs.run_journal{name}" for name in ("", ".health_of", ".run_ids")}
    desk = {"hive_mind.agents.desk", "hive_mind.agents.desk.LedgerDesk"}

    found = {name for name in watcher.imports if name.startswith("hive_mind.") and not name.startswith(harmless)}
    assert found == journals | desk


def test_topologies_are_named_where_they_are_registered():
    """Elsewhere what differs is read from `TopologySpec`, so that another topology needs no other file."""
    found = [(source.name, node) for source in SOURCES for node in source.nodes if matches_a_topology(node)]
    assert [f"{name}: {ast.unparse(node)}" for name, node in found if not name.startswith("hive/topology/")] == []


@pytest.mark.parametrize(
    ("text", "is_match"),
    [
        ('kind == "flat"', True),
        ('kind not in ("single", *OTHERS)', True),
        ('match kind:\n    case "sharded":\n        pass', True),
        ('{"flat": 1, "federated": 2}', True),
        ('plan_of("flat"), {"flat": 1}, kind == FLAT', False),
    ],
)
def test_a_topology_that_is_matched_by_its_name_is_seen(text, is_match):
    assert any(matches_a_topology(node) for node in ast.walk(ast.parse(text))) is is_match


def matches_a_topology(node: ast.AST) -> bool:
    """Whether it compares with a name, or is a table by names."""
    if isinstance(node, ast.Compare):
        return any(names_a_topology(one) for side in (node.left, *node.comparators) for one in ast.walk(side))
    if isinstance(node, ast.Dict):
        return sum(names_a_topology(key) for key in node.keys) > 1
    return isinstance(node, ast.MatchValue) and names_a_topology(node.value)


def names_a_topology(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in TOPOLOGIES


def test_a_function_that_asks_changes_nothing():
    """Not the object it belongs to: what changes it is called by a verb."""
    offenders = [
        f"{source.name}: {function.name} changes {ast.unparse(target)}"
        for source in SOURCES
        for function in source.nodes
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and ASKS.match(function.name)
        for target in _changed_in(function)
    ]
    assert not offenders, "\n".join(offenders)


@pytest.mark.parametrize("change", ["self.x = 1", "self.x += 1", "del self.x[1]", "self.x.pop(1)", "self._keys.learn(1)"])
def test_a_question_that_changes_something_is_seen(change):
    assert list(_changed_in(ast.parse(f"def is_done(self):\n    {change}")))
    assert not list(_changed_in(ast.parse("def is_done(self):\n    x = self.y(1)\n    x.append(1)")))


def _changed_in(tree: ast.AST) -> Iterator[ast.expr]:
    """The attributes of `self` that it assigns, deletes or tells to change."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                target: ast.expr = node
            case ast.Call(func=ast.Attribute(value=target, attr=name)) if name in CHANGES:
                pass
            case _:
                continue
        if ast.unparse(target).startswith("self."):
            yield target
