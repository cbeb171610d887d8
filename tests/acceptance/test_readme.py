"""The programs of README and of the pages behind its three doors run as they stand, and commands print what stands below them."""

import os
import re
import shlex
import shutil
import sys
import textwrap
from pathlib import Path

import pytest

from tests.acceptance.hive_mind_command import HiveMind
from tests.servers.forked import run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
DOORS = [(ROOT / "docs" / "howto" / f"{door}.md").read_text("utf-8") for door in ("laptop", "operator", "evaluator")]
TEXT = "\n".join([README, *DOORS])
LINES_MAX = 150
PROGRAMS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
# What each program is about; it has to show it.
SHOWN = ("The gateway listens on port 8443.", "The gateway listens on port 8443.")
# Blocks of "$ command" and output that need neither a broker nor a fleet that runs.
BLOCKS = re.findall(r"(?:^ {4}.*\n)+", TEXT, re.MULTILINE)
FIRST = README.split("\n## How it fits together\n")[0]
SESSIONS = [block for block in BLOCKS if re.match(r" {4}\$ hive-mind (learn|graph)", block)]


def test_it_is_read_in_five_minutes_and_leads_to_three_doors() -> None:
    assert README.count("\n") <= LINES_MAX
    assert all(f"(docs/howto/{door}.md)" in README for door in ("laptop", "operator", "evaluator"))


def test_there_are_programs_and_sessions() -> None:
    assert (len(PROGRAMS), len(SESSIONS)) == (len(SHOWN), 1)


@pytest.mark.parametrize(("program", "shown"), list(zip(PROGRAMS, SHOWN, strict=True)))
def test_a_program_runs_as_it_stands(program: str, shown: str, tmp_path: Path) -> None:
    imports = "".join(line + "\n" for line in program.splitlines() if line.startswith("from "))
    rest = "".join(line + "\n" for line in program.splitlines() if not line.startswith("from "))
    # What a notebook does by itself; a program that ends with a value shows it there.
    last = "    print(hits)\n" if "hits =" in rest else ""
    whole = f"import asyncio\n{imports}\nasync def main():\n{textwrap.indent(rest, '    ')}{last}\nasyncio.run(main())\n"
    environment = os.environ | {"HIVE_MIND_HOME": str(tmp_path / "home"), "HIVE_MIND_EMBED": "none", "PYTHONPATH": str(ROOT)}

    ended = run([sys.executable, "-c", whole], 120, env=environment, text=True)

    assert ended.returncode == 0, ended.stderr
    assert shown in ended.stdout


@pytest.mark.parametrize("session", SESSIONS)
def test_a_command_prints_what_stands_below_it(session: str, hive_mind: HiveMind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for step in re.split(r"^\$ ", textwrap.dedent(session), flags=re.MULTILINE)[1:]:
        line, _, expected = step.partition("\n")
        ended = hive_mind(*shlex.split(line)[1:])

        assert ended.code == 0, ended.err
        assert not expected or ended.out == expected


def test_the_first_screen_shows_what_is_printed(hive_mind: HiveMind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (shown,) = (block for block in FIRST.split("\n\n    $ ") if "hive-mind chat\n" in block)
    line, _, expected = textwrap.dedent(f"    {shown}\n").partition("\n")
    _, said, *rest = shlex.split(line.removeprefix("$ "))
    assert rest == ["|", "hive-mind", "chat"]
    talked = hive_mind("chat", stdin=said.replace("\\n", "\n"))
    (_, installing) = FIRST.split("    $ hive-mind mcp install claude --yes\n")
    first, _, last = textwrap.dedent(installing.split("\n\n")[0]).splitlines()

    installed = hive_mind("mcp", "install", "claude", "--yes")

    assert (talked.code, talked.out.rstrip()) == (0, expected.rstrip()), talked.err
    printed = (installed.out + installed.err).replace(str(tmp_path), "/home/ines/town").splitlines()
    assert (printed[0], printed[-1]) == (first, last)


def test_the_first_screen_shows_the_link_that_a_browser_gets(guarded: HiveMind, tmp_path: Path) -> None:
    (_, shown) = FIRST.split("    $ hive-mind ui\n")
    _, link, last = textwrap.dedent(shown.split("\n\n")[0]).splitlines()

    home = guarded.with_environment(HIVE_MIND_HOME=str(tmp_path / "town"))
    printed = home("ui")
    home("serve", "--stop")

    assert printed.code == 0, printed.err
    # Port and code are others each time.
    assert re.sub(r":\d+/ui/enter/\S+", "", printed.out) == re.sub(r":\d+/ui/enter/\S+", "", link) + "\n"
    assert printed.err.splitlines()[-1] == last


def test_retrieval_prints_what_stands_below_it(hive_mind: HiveMind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = [block for block in BLOCKS if block.startswith("    $ hive-mind retrieval")]
    assert len(blocks) == 6
    for step in blocks:
        line, _, expected = textwrap.dedent(step).removeprefix("$ ").partition("\n")
        ended = hive_mind.with_environment(HIVE_MIND_HOME=".hive")(*shlex.split(line)[1:])

        assert ended.code == ("refused" in expected), ended.err
        printed = words(ended.out + ended.err)
        for part in expected.split("…\n"):
            assert words(part) in printed, line


def words(text: str) -> str:
    """In one line, without how long it took."""
    return re.sub(r"\(\d+\.\d+ s\)", "", " ".join(text.split()))


def test_what_apply_is_going_to_do_is_what_is_shown(hive_mind: HiveMind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (shown,) = (block for block in BLOCKS if block.startswith("    $ hive-mind apply -f manifests/flat.yaml\n"))
    assert hive_mind("plan", "-f", "manifests/flat.yaml").out.splitlines() == textwrap.dedent(shown).splitlines()[1:5]


def test_an_operator_sees_what_is_shown(guarded: HiveMind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "manifests", tmp_path / "manifests")
    monkeypatch.chdir(tmp_path)
    fleet = guarded.with_environment(HIVE_MIND_HOME=".hive")
    manifest = tmp_path / "manifests" / "flat.yaml"
    # In the order of the page, but for a second apply, after which it shows what is deleted.
    asked, planned, deleted = (
        textwrap.dedent(block).removeprefix("$ ").splitlines()
        for block in BLOCKS
        if re.match(r" {4}\$ hive-mind (ask .* --agent ferry|plan -f manifests/flat.yaml|delete)\n", block)
    )

    assert fleet("apply", "-f", "manifests/flat.yaml").code == 0
    assert lines(fleet, asked[0]) == asked[1:]
    edited = manifest.read_text().replace("topology: flat\n", "topology: {kind: sharded, replicas: 2}\n")
    manifest.write_text(edited.replace("name: ferry", "name: boats"))
    assert lines(fleet, planned[0]) == planned[1:]
    assert sorted(lines(fleet, deleted[0])) == sorted(line.replace("boats", "ferry") for line in deleted[1:])


def lines(hive_mind: HiveMind, call: str) -> list[str]:
    ended = hive_mind(*shlex.split(call)[1:])
    return [line.rstrip() for line in (ended.err + ended.out).splitlines()]


def test_the_table_of_topologies_is_what_is_printed(hive_mind: HiveMind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page leaves out some columns. What is found is exact; on a busy machine some questions take another message."""
    monkeypatch.chdir(tmp_path)
    (shown,) = (block for block in BLOCKS if block.startswith("    $ hive-mind eval run quick\n"))

    told = hive_mind.with_environment(COLUMNS="250")("eval", "run", "quick", "--out", tmp_path / "run").out
    printed = table(told.replace("\N{NARROW NO-BREAK SPACE}", " ").splitlines())
    rows = table(textwrap.dedent(shown).splitlines())

    assert len(rows) == 6
    for name, row in rows.items():
        found = {title: cell for title, cell in row.items() if title not in TRAFFIC}
        assert found.items() <= printed[name].items()
        for title in TRAFFIC:
            assert figure(row[title]) == pytest.approx(figure(printed[name][title]), rel=0.25), (name, title)


TRAFFIC = ("messages", "bytes", "asked")


def table(lines: list[str]) -> dict[str, dict[str, str]]:
    """Cells by row and title; of two columns of one title, the first."""
    begins = next(number for number, line in enumerate(lines) if "recall@10" in line)
    titles = lines[begins].split()
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines[begins + 1 : begins + 7]]
    return {name: dict(reversed([*zip(titles, cells, strict=True)])) for name, *cells in rows}


def figure(cell: str) -> float:
    return float(cell.replace(" ", ""))
