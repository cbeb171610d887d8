"""`hive-mind graph`: show, path, query."""

import asyncio
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from hive_mind.cli.running import FAILED, USAGE
from hive_mind.model.ids import entity_id
from hive_mind.runtime.settings import Settings
from hive_mind.runtime.wiring import open_memory
from tests.acceptance.hive_mind_command import HiveMind
from tests.acceptance.test_fleet_commands import started

NOTES = "Pump D4 cools the transformers. Ines Weber replaced the seal of Pump D4. Ines Weber works in Hall 2."


def teach(hive_mind):
    file = hive_mind.home.parent / "pumps.md"
    file.write_text(NOTES)
    hive_mind("learn", file)
    return hive_mind


@pytest.fixture
def taught(hive_mind):
    return teach(hive_mind)


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """The same for those who only look."""
    return teach(HiveMind(tmp_path_factory.mktemp("graph") / "home"))


def test_around_an_entity_stand_the_facts_that_mention_it_and_below_them_what_they_name(known):
    ended = known("graph", "show", "pump d4", "--depth", 2)

    assert ended.out.splitlines()[0] == "Pump D4"
    assert "← MENTIONS" in ended.out
    assert "  → MENTIONS" in ended.out
    assert "Pump D4 cools the transformers." in ended.out
    assert "Ines Weber" in ended.out
    assert "making the graph of" not in ended.err, "only a query needs Kuzu"


def test_a_fact_is_shown_by_the_beginning_of_its_id(known):
    (newest, *_) = known("facts", "list", "-o", "json").json
    assert known("graph", "show", newest["id"][:8]).out.splitlines()[0] == newest["content"]


def test_a_path_reads_from_one_end_to_the_other(known):
    lines = known("graph", "show", "Pump D4", "--to", "Hall 2", "-n", 1).out.splitlines()

    assert [line.split(maxsplit=2)[-1] if not line.startswith(" ") else line.strip() for line in lines] == [
        "Pump D4",
        "← MENTIONS",
        "Ines Weber replaced the seal of Pump D4.",
        "→ MENTIONS",
        "Ines Weber",
        "← MENTIONS",
        "Ines Weber works in Hall 2.",
        "→ MENTIONS",
        "Hall 2",
    ]
    assert known("graph", "show", "Pump D4", "--to", "Hall 2", "--max-length", 1).out == "No path of up to 1 edges.\n"


def test_a_query_gives_a_table_or_json(known):
    asked = "MATCH (f:Fact)-[:MENTIONS]->(e:Entity) RETURN e.name AS name, count(f) AS facts ORDER BY facts DESC, name"

    assert known("graph", "query", asked).out.splitlines()[:2] == ["name        facts", "Ines Weber  2"]
    assert known("graph", "query", asked, "-o", "json").json == {
        "columns": ["name", "facts"],
        "rows": [["Ines Weber", 2], ["Pump D4", 2], ["Hall 2", 1]],
        "cut": "",
    }
    assert "cut after 1 rows" in known("graph", "query", asked, "-n", 1).out
    assert "\nEntity Pump D4" in known("graph", "query", "MATCH (e:Entity) RETURN e ORDER BY e.name").out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("query", "MATCH (f) DETACH DELETE f"), USAGE, "the graph is only read, and DELETE does more"),
        (("query", "LOAD FROM '/etc/passwd' RETURN *"), USAGE, "begins with MATCH"),
        (("query", "MATCH (f:Fact) RETURN f.colour"), USAGE, "Cannot find property colour"),
        (("query", "RETURN size(range(1, 1000000000))"), FAILED, "more memory than a query may take"),
        (("show", "Pump D5"), USAGE, "the graph has no 'Pump D5'"),
        (("show", "Pump D4", "--agent", "nobody"), USAGE, "agent 'nobody' has learned nothing yet"),
        (("show", "Pump D4", "--to", "Hall 2", "--max-length", 1, "-o", "svg"), USAGE, "there is nothing to draw"),
    ],
)
def test_what_can_not_be_answered_is_told_in_a_line(known, arguments, code, said):
    ended = known("graph", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err.splitlines()[-1]


def test_pictures_escape_whatever_stands_in_a_text(hive_mind):
    hostile = "Ada \"said\" <script>alert('1')</script> & \\ \x00\x1b[31m \ufffe ]]> \u202e"

    async def store():
        async with await open_memory(Settings(home=hive_mind.home, embed="none"), "default") as memory:
            return await memory.store_fact(hostile, hostile)

    fact = asyncio.run(store())
    svg, dot = (hive_mind("graph", "show", fact.id, "-o", form).out for form in ("svg", "dot"))

    texts = [element.text for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}title")]  # noqa: S314 - our own
    assert any("<script>alert('1')</script> & \\" in text for text in texts)
    assert "<script" not in svg
    assert '[label="Ada \\"said\\" <script>alert(' in dot
    assert all(character >= " " or character == "\n" for character in svg + dot)


def test_a_drawing_has_every_thing_and_every_edge(known):
    found = known("graph", "show", "Ines Weber", "--depth", 3, "-o", "json").json
    svg = ET.fromstring(known("graph", "show", "Ines Weber", "--depth", 3, "-o", "svg").out)  # noqa: S314 - our own
    dot = known("graph", "show", "Ines Weber", "--depth", 3, "-o", "dot").out

    assert found["things"][0]["id"] == entity_id("Ines Weber")
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}circle"))) == len(found["things"]) > 4
    assert dot.count(" -> ") == len(list(svg.iter("{http://www.w3.org/2000/svg}path"))) - 1 == len(found["edges"])


def test_the_graph_is_shown_while_another_process_holds_the_memory(taught):
    async def run():
        async with await open_memory(Settings(home=taught.home, embed="none"), "default") as memory:
            fact = await memory.store_fact("Pump D4", "Pump D4 was painted red.")
            return await asyncio.to_thread(taught, "graph", "show", fact.id)

    assert asyncio.run(run()).out.startswith("Pump D4 was painted red.")


def test_help_names_the_tables_a_query_can_ask(hive_mind):
    told = " ".join(hive_mind("graph", "query", "--help").out.split())
    assert "(:Fact)-[:DERIVES_FROM]->(:Episode)" in told
    assert "(:Entity {id, name})" in told


def names_in(place: Path) -> set[str]:
    """As a program reads them that opens the file itself."""
    code = (
        "import kuzu, sys\n"
        "rows = kuzu.Connection(kuzu.Database(sys.argv[1], read_only=True)).execute('MATCH (f:Fact) RETURN f.content')\n"
        "while rows.has_next(): print(rows.get_next()[0])\n"
    )
    read = subprocess.run([sys.executable, "-c", code, place], capture_output=True, text=True, check=True, timeout=100)
    return set(read.stdout.splitlines())


def test_a_program_that_opens_the_database_itself_is_told_how_old_it_is_and_can_have_it_fresh(taught, tmp_path):
    place = Path(taught("graph", "build", "-o", "json").json["graph"])
    first = names_in(place)
    assert "Pump D4 cools the transformers." in first
    told = (place.parent / "graph.txt").read_text("utf-8")
    assert re.search(r"as that was on \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", told)
    assert "graph build --keep" in told

    (tmp_path / "more.md").write_text("The gate of the lock is shut.")
    taught("learn", tmp_path / "more.md")
    assert names_in(place) == first
    assert taught("graph", "build").out.startswith(str(place))
    assert "The gate of the lock is shut." in names_in(place)


def test_a_database_is_kept_fresh_until_somebody_stops_it(taught, tmp_path):
    with started(taught, "graph", "build", "--keep", "--every", 0.2) as keeping:
        place = Path(keeping.stdout.readline().decode().split(": the memory")[0])
        (tmp_path / "more.md").write_text("The gate of the lock is shut.")
        assert taught("learn", tmp_path / "more.md").code == 0
        assert "the memory as it is now" in keeping.stdout.readline().decode()
        assert "The gate of the lock is shut." in names_in(place)
        keeping.send_signal(signal.SIGINT)
        keeping.wait(60)
