"""A row, or a field, is told by its cell or its key, and need not say what somebody does."""

import asyncio
from pathlib import Path

import pytest

from hive_mind import Content, Settings, open_agent

BIRDS = "day,species,site,count,observer\n1 May,lapwing,North Marsh,12,Elin\n"
BIRDS += "2 May,heron,Salt Pan,1,Goran\n3 May,curlew,North Marsh,3,Ida\n"
SERVICES = "| Service | Port | Team |\n|---|---|---|\n| quill | 7010 | Ledger |\n| heron | 8088 | Edge |\n"
STAFF = "| Empleado | Oficina | Puesto |\n|---|---|---|\n| Lucía Prado | Sevilla | contable |\n| Iván Soto | Bilbao | chófer |\n"
SETTINGS = "[mqtt]\nbroker = 192.168.7.20\ntopic = shed\n\n[sensors]\nhumidity_pin = 17\ninterval = 45\n"
LIBRARIES = "django==4.2.13\ncelery[redis]>=5.3,<6\n"
CHART = "Patient: Harold Winslow\n\nAllergies: penicillin\nWard: 5B\n"
BOOKS = "Carson, R. (1962). Silent Spring. Boston: Mifflin.\nMandelbrot, B. (1982). Fractals. New York: Freeman.\n"
TOOLS = "Tool name\tShelf\tLent to\tDeposit\nbelt sander\tshelf 4\tCarla Mendes\t30\ntile cutter\tshelf 1\tnobody\t50\n"
SHIPS = "vessel;captain;harbour;tonnes;built\nAurelia;Ingrid Solberg;Bergen;1180;1961\nPetrel;Odd Moe;Molde;930;1958\n"
BACKUPS = "2026-06-11T01:00:02Z INFO backup of vol-home started\n2026-06-11T02:10:09Z ERROR vol-scratch has no owner\n"
CHAT = "Nate: I'm taking time off this weekend to be with my turtles. Anything nice planned?\n"
CHAT += "Joanna: I am hiking with my buddies this weekend. What is new with you?\nNate: Not much. What will you cook?\n"
LOG = "2026-02-02 08:30:00 ERROR job report: disk quota exceeded\n2026-02-02 08:41:12 INFO job report: succeeded\n"


def first_quoted(text: str, question: str, home: Path) -> str:
    async def asked() -> str:
        async with await open_agent(Settings(home=home, embed="none"), "ana") as agent:
            await agent.learn_from_content(Content(text, source="text.md"))
            sources = (await agent.answer_question(question)).sources
        return sources[0].fact.content if sources else ""

    return asyncio.run(asked())


RELEASES = "# Heron\n\n## Heron 5.0 — 18 May 2026\n\n### Fixed\n\n- Crash on empty manifests.\n"


@pytest.mark.parametrize(
    ("text", "question", "told"),
    [
        (BIRDS, "Who saw the heron?", "Goran"),
        (BIRDS, "Where was the curlew seen?", "North Marsh"),
        (BIRDS, "What did the heron eat?", ""),
        (SERVICES, "Which service listens on 8088?", "heron"),
        (SERVICES, "Who founded quill?", ""),
        (STAFF, "¿En qué oficina trabaja Iván Soto?", "Bilbao"),
        (STAFF, "¿Cuánto cuesta Lucía Prado?", ""),
        (SETTINGS, "What is the address of the mqtt broker?", "192.168.7.20"),
        (SETTINGS, "What is the password of the mqtt broker?", ""),
        (SETTINGS, "Which pin is the humidity sensor on?", "17"),
        ("[app]\nverbose = false\ndebug_mode = on\n", "Is verbose mode on?", "verbose = false"),
        ("log:\n  verbose: true\nserver:\n  tls: off\n", "Is TLS enabled?", "tls: off"),
        ("VERBOSE=0\nDEBUG_MODE=1\n", "Is verbose mode on?", "VERBOSE=0"),
        ("Setting | Value\n--- | ---\nverbose | off\nstrict | on\n", "Is verbose mode on?", "off"),
        (LIBRARIES, "Which version of django is pinned?", "4.2.13"),
        (LIBRARIES, "Which celery versions are allowed?", "5.3"),
        (LIBRARIES, "Which version of hyper is pinned?", ""),
        (CHART, "What is Harold Winslow allergic to?", "penicillin"),
        (BOOKS, "When was Silent Spring published?", "1962"),
        (BOOKS, "Who wrote Fractals?", "Mandelbrot"),
        (LOG, "Why did the report job fail?", "disk quota"),
        (TOOLS, "Who repaired the tile cutter?", ""),
        (TOOLS, "Who is the belt sander lent to?", "Carla Mendes"),
        (SHIPS, "When does the Aurelia leave Bergen?", ""),
        (SHIPS, "When was the Aurelia built?", "1961"),
        (BACKUPS, "How big is vol-scratch?", ""),
        ("name,week,hours\nAbel,12,38\nChidi,13,41\nBianca,12,40\n", "Who worked 41 hours?", "Chidi"),
        ("warehouse: Gdynia\nopened: 2019\n", "Where is the warehouse?", "Gdynia"),
        ("http {\n    server_name tiles.example.net;\n}\n", "What is the server name?", "tiles.example.net"),
        (RELEASES, "When was Heron 5.0 released?", "18 May 2026"),
        (RELEASES, "What was fixed in Heron 5.0?", "Crash on empty manifests"),
        (CHAT, "When did Joanna hike with her buddies?", "this weekend"),
        (CHAT, "When did Nate take time off?", "this weekend"),
    ],
)
def test_a_record_answers_what_it_holds_and_nothing_else(text: str, question: str, told: str, tmp_path: Path):
    quoted = first_quoted(text, question, tmp_path)
    assert told in quoted if told else quoted == ""


BERTHS = "| berth | length | boat |\n|---|---|---|\n| N2 | 30 m | Auk |\n\nBoats at berth N2 pay 20 euros a night.\n"
GARAGE = "Am 16. April wird das Wasser abgestellt.\nRückfragen an Herrn Dahlke.\nDie Tiefgarage bleibt geöffnet.\n"
HALL = "The harbour fee rises from 1,900 to 2,150 crowns.\nThe crane is booked for nine o'clock.\nGunnar sold his boat to Ylva.\n"


@pytest.mark.parametrize(
    ("text", "question", "told"),
    [
        (BERTHS, "Which boat lies at berth N2?", "Auk"),
        (GARAGE, "Ist die Tiefgarage geschlossen?", "geöffnet"),
        (HALL, "At what time is the ferry booked?", ""),
        (HALL, "When does the post office close?", ""),
        ("The shop opens at 8:00.\n\nIt sells bread.\n", "When does the shop close?", ""),
        ("The shop is open until 18:00.\n\nIt sells bread.\n", "When does the shop close?", "18:00"),
        ("展会十点开始。\n门票五元。\n", "展会几点结束？", ""),
    ],
)
def test_a_short_text_tells_what_is_likely_only_where_nothing_else_does(text: str, question: str, told: str, tmp_path: Path):
    quoted = first_quoted(text, question, tmp_path)
    assert told in quoted if told else quoted == ""
