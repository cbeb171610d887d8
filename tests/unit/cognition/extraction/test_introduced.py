"""A sentence that ends with a colon says something only together with what it introduces."""

import pytest

from hive_mind.model.ids import canonical
from tests.unit.cognition.reading import candidates, statements

ITEMS = "- 8443 for the API\n- 9443 for all metrics"
LIST = "The job needs these ports:\n8443 for the API\n9443 for all metrics"


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (f"The job needs these ports:\n\n{ITEMS}\n\nAll else is shut off.", LIST),
        (f"# Ports\n\nIt runs at night. The job needs these ports:\n{ITEMS}", LIST),
        (
            "To stop it, run this command:\n\nsystemctl stop gw7\n\nIt takes a minute.",
            "To stop it, run this command: systemctl stop gw7",
        ),
        (
            "The address of the depot is:\n12 Quay Street, Lund\n\nIt opens at 8.",
            "The address of the depot is: 12 Quay Street, Lund",
        ),
        ("To stop it, run:\n\n```\ngw7 stop\n```", "To stop it, run:\ngw7 stop"),
    ],
)
def test_it_is_kept_with_what_it_introduces_and_not_alone(text: str, whole: str):
    kept = [canonical(told) for told in statements(text)]
    assert canonical(whole) in kept
    assert whole.partition(":")[0] + ":" not in kept


def test_items_of_a_list_stand_for_themselves_besides():
    assert statements(f"The job needs these ports:\n{ITEMS}")[1:] == ["8443 for the API", "9443 for all metrics"]


@pytest.mark.parametrize(
    "behind",
    [
        "The mill is old. It was built in 1870.",
        "# Another heading\n\nThe mill is old.",
        "Who knows where the mill is?",
        "- the wheel:\n  - it turns\n  - it is old",
        "\n".join(f"- item {number} of a list that nobody reads at a glance" for number in range(30)),
    ],
)
def test_what_is_no_part_of_it_is_left_apart(behind: str):
    assert "The miller says this much:" in statements(f"The miller says this much:\n\n{behind}")


def test_rows_of_a_table_are_about_what_introduces_it():
    rows = candidates("The default limits are:\n\n| kind | limit |\n|---|---|\n| uploads | 40 MB |")
    assert [(row.content, row.concept) for row in rows][-1] == ("| uploads | 40 MB |", "The default limits are")
    (row,) = candidates("# Proxy\n\nThe default limits are:\n\n| kind | limit |\n|---|---|\n| uploads | 40 MB |")[-1:]
    assert row.concept == "Proxy: The default limits are"


@pytest.mark.parametrize("line", ["Released 2023-08-17", "Published on 3 May 2024", "Signed 12 March 2021 in Corrin", "4 eggs"])
@pytest.mark.parametrize("section", ["Version 8.1.7\n-------------", "## Version 8.1.7"])
def test_a_line_with_a_date_right_below_a_heading_is_said_there_and_heads_nothing(section: str, line: str):
    facts = candidates(f"# Changes\n\n{section}\n\n{line}\n\n- Fix the flags of the shell.\n- Fix the script for the fish.\n")
    assert [(fact.content, fact.concept) for fact in facts] == [
        (line, "Version 8.1.7"),
        ("Fix the flags of the shell.", "Version 8.1.7"),
        ("Fix the script for the fish.", "Version 8.1.7"),
    ]


@pytest.mark.parametrize("text", ["Sharks – Otters 9:7", "12.07.2026 13:48 Kasse 2", "Facilities, extension 4417."])
def test_a_short_line_with_a_figure_is_kept(text: str):
    assert text in statements(f"Nobody plays at home today.\n{text}\nAll the others have the day off.")
