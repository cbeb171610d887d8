"""What a command loads before it does anything.

Lists say that there is more, and one of something is one.
Whether an embedding model is on this machine.
The picture of `simulate --plot`.
"""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from hive_mind import __main__
from hive_mind.cli.app import ENTRIES, commands_in
from hive_mind.cli.doctor import where_model_is
from hive_mind.cli.running import STOPPED
from hive_mind.cli.simulate import Curve, drawn
from hive_mind.counted import counted

COMMANDS = {f"hive_mind.cli.{entry.module}" for entry in ENTRIES.values()}
# Each takes long to load, and only fleets need it.
HEAVY = ("aiohttp", "pydantic", "psutil", "yaml", "hive_mind.control.manifests")


def printed(code: str, **environment: str) -> str:
    """Standard output of a Python of its own."""
    others = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"} | environment
    root = Path(__file__).parents[3]
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=root, env=others)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def loaded(*arguments: str, **environment: str) -> list[str]:
    """With how many threads the command calculates, and the modules that are there after a call of it."""
    code = f"import os, sys; sys.argv = ['hive-mind', *{arguments!r}]\nfrom hive_mind.__main__ import main\n"
    code += "try:\n    main()\nexcept SystemExit:\n    print('\\n', os.environ.get('OPENBLAS_NUM_THREADS'), *sys.modules)"
    return printed(code, **environment).splitlines()[-1].split()


@pytest.mark.parametrize(
    ("command", "module", "threads"),
    [
        ([], [], "None"),
        (["ask"], ["asking.ask"], "1"),
        (["apply"], ["fleet.apply"], "None"),
        (["learn", "--watch"], ["learning.learn", "asking.serve"], "None"),
        (["eval"], ["evals"], "None"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_help_loads_the_command_it_is_about_and_no_library_that_only_fleets_need_and_what_is_brief_takes_one_thread(
    command, module, threads
):
    set_to, *modules = loaded(*command, "--help")
    assert set_to == threads
    assert {*HEAVY}.isdisjoint(modules)
    assert COMMANDS.intersection(modules) == {f"hive_mind.cli.{one}" for one in module}


def test_a_worker_loads_no_command_line_and_says_what_is_wrong_with_its_configuration(tmp_path):
    code = f"""
import sys
sys.argv = ["hive-mind", "agent", "--config", {str(tmp_path / "missing.json")!r}]
import hive_mind.runtime.workers.process, hive_mind.cli.agent_config
assert not {{"typer", "pydantic"}}.intersection(sys.modules)
from hive_mind.__main__ import main
sys.stderr = sys.stdout
try:
    main()
except SystemExit as ended:
    print(ended.code)
"""
    *said, exit_code = printed(code).splitlines()
    assert (exit_code, len(said), "missing.json can't be read" in said[0]) == ("2", 1, True)


# Together a tenth of an idle worker's memory, and half of it for those that read texts, draw or judge.
UNUSED = {"jinja2", "matplotlib", "numkong", "numpy.random", "pydantic", "statistics", "typer", "yaml"}
UNUSED |= {
    f"hive_mind.{name}"
    for name in ("ann", "cognition.extractive", "judge.calibration", "llm.providers", "runs.spec", "runtime.texts")
}


def test_an_idle_worker_has_loaded_nothing_that_it_does_not_use(tmp_path):
    code = f"""
import asyncio, sys
from pathlib import Path
import hive_mind.cli.agent_config, hive_mind.runtime.workers.process
from hive_mind.runtime.workers.config import ModelsConfig
from tests.unit.runtime.worker_builders import config, running
from tests.waiting import until

async def be_ready():
    async with running(config(Path({str(tmp_path)!r}), "sharded", models=ModelsConfig(store="sqlite"))) as worker:
        await until(lambda: worker.status().is_ready)
    print(*sys.modules)

asyncio.run(be_ready())
"""
    assert sorted(UNUSED.intersection(printed(code).split())) == []


def test_listing_facts_loads_nothing_that_reads_content_or_words_answers(tmp_path):
    _, *modules = loaded("facts", "list", "--home", str(tmp_path), "--output", "json", HIVE_MIND_EMBED="none")
    assert "hive_mind.memory.recall" in modules
    assert {*HEAVY}.isdisjoint(modules)
    assert not [
        name for name in modules if name.startswith(("hive_mind.cognition.answering.q", "hive_mind.cognition.extraction."))
    ]


def test_ctrl_c_while_modules_load_ends_without_a_traceback(monkeypatch):
    class Interrupted(ModuleType):
        def __getattr__(self, name: str) -> None:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "hive_mind.cli.app", Interrupted("hive_mind.cli.app"))
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert ended.value.code == STOPPED


@pytest.mark.parametrize("module", sorted({entry.module for entry in ENTRIES.values()}))
def test_commands_are_listed_under_the_names_they_have_and_with_what_their_help_begins_with(module):
    assert {name: (command.help or "").partition("\n")[0] for name, command in commands_in(module).items()} == {
        entry.name: entry.summary for entry in ENTRIES.values() if entry.module == module
    }


def test_a_command_says_that_it_starts_a_process_before_it_loads_what_starts_one(tmp_path):
    code = f"""
import sys
from hive_mind.__main__ import main
from hive_mind.cli.asking import serve

def say(text, **_):
    print(text, *sys.modules, sep="\\n")
    sys.exit()

serve.say = say
sys.argv = ["hive-mind", "serve", "--home", {str(tmp_path)!r}]
main()
"""
    said, *there = printed(code).splitlines()
    assert said.startswith("starting a process for agent default, which loads ")
    assert {*HEAVY, "numpy", "hive_mind.control.controller"}.isdisjoint(there)


# Commands that put requests, wherever the memory is open. An engine is loaded where it turns out to be this process.
CLIENTS = ("asking.ask", "asking.chat", "facts", "stats", "fleet.apply", "learning.learn")
CLIENTS += ("review.inbox", "runs", "asking.mcp", "asking.serve")
ENGINE = ("agents", "cognition", "embed", "hive", "journal", "ledger", "ranking", "store", "memory.cognitive", "api.requests")
# The patterns of the gate and the guessing of encodings, which reading a fleet's state does without.
TEXTS = ("hive_mind.memory.gate.sensitive", "charset_normalizer")
RUN = (
    "aiohttp",
    "sqlite3",
    "hive_mind.memory.cognitive",
    "hive_mind.agents.agent",
    "hive_mind.hive.node",
    "hive_mind.runtime.wiring",
)


def test_a_client_loads_no_engine_and_what_starts_a_process_nothing_of_what_that_runs():
    engine = (*HEAVY, *TEXTS, "numpy", "hive_mind.control.controller", *(f"hive_mind.{room}" for room in ENGINE))
    steps = [(f"hive_mind.cli.{client}", engine) for client in CLIENTS]
    steps += [("hive_mind.cli.fleet", TEXTS), ("hive_mind.control.controller", RUN), ("hive_mind.control.platforms.local", RUN)]
    code = f"""
import sys
from importlib import import_module
for module, unused in {steps!r}:
    import_module(module)
    print(module, *sorted(set(unused).intersection(sys.modules)))
"""
    assert printed(code).splitlines() == [module for module, _ in steps]


@pytest.mark.parametrize(("number", "told"), [(0, "0 facts"), (1, "1 fact"), (2, "2 facts"), (2000, "2,000 facts")])
def test_one_is_one_and_all_else_are_several_and_a_verb_follows_its_number(number: int, told: str) -> None:
    assert counted(number, "fact") == told
    assert counted(number, "fact has", "facts have") == told + (" has" if number == 1 else " have")


@pytest.mark.parametrize(
    "name", ["{folder}", "nobody-ever/made-this-model", "/no/such/folder", "made-up", "a b\0c", "x" * 300, "~nobody-here/model"]
)
def test_a_folder_with_a_models_files_is_one_and_what_is_not_here_is_told_without_asking_the_network(tmp_path, name):
    assert where_model_is(name.format(folder=tmp_path)) == ""
    for file in ("modules.json", "config.json"):
        (tmp_path / file).write_text("{}")
    assert where_model_is(name.format(folder=tmp_path)) == (str(tmp_path) if name == "{folder}" else "")


def test_the_picture_has_a_line_for_each_topology_with_points_over_round_minutes() -> None:
    points = ((0.0, 0.5, 0.25), (4.0, 0.75, 0.5), (8.0, 1.0, 1.0))
    picture = drawn([Curve("flat", points), Curve("sharded", points), Curve("federated", ())]).decode()

    assert [picture.count(f">{words}</text>") for words in ("flat", "sharded", "federated", *range(9))] == [1, 1, 0, *[1] * 9]
    # Where nothing was simulated there is an empty one.
    assert [drawn(curves)[:4] for curves in ([], [Curve("flat", ())])] == [b"<svg"] * 2
