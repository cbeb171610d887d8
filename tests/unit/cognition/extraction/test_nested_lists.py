"""An item of a list within a list stands under the items above it, as a sentence stands under its heading."""

from hive_mind.cognition.extraction.blocks import blocks
from hive_mind.cognition.extraction.sentences import cut

TEXT = """# Mill 3

- Summer
  - opens at five
  - staff:
    - day: Ada
    - night: Bo
- Winter
  - opens at eight

Plain words after it.

1. Oil
    * kind: 10W
2. Water
"""


def test_items_have_those_above_them_as_their_topic():
    topics = {block.text: block.topic for block in blocks(TEXT)}
    assert topics == {
        "Summer": "",
        "opens at five": "Mill 3: Summer",
        "staff:": "Mill 3: Summer",
        "day: Ada": "Mill 3: Summer: staff",
        "night: Bo": "Mill 3: Summer: staff",
        "Winter": "",
        "opens at eight": "Mill 3: Winter",
        "Plain words after it.": "",
        "Oil": "",
        "kind: 10W": "Mill 3: Oil",
        "Water": "",
    }


def test_a_flat_list_is_as_it_was():
    assert [(block.text, block.lead, block.topic) for block in blocks("Boats:\n- red\n- blue")] == [
        ("Boats:", "", ""),
        ("red", "Boats:", ""),
        ("blue", "Boats:", ""),
    ]


def test_the_line_above_a_list_leads_what_is_nested_in_it():
    found = blocks("Boats:\n\n- red\n    - crew: 4\n- blue\n    - crew: 6\n")
    assert [block.topic for block in found if block.text.startswith("crew")] == ["Boats: red", "Boats: blue"]


def test_code_brings_the_sentence_that_introduces_it():
    layout = blocks("It leaks at times. To drain the basin, run:\n\n    drain --all\n    drain --status\n\nThen wait.")
    assert [piece.text for piece in cut(layout, 1000, 300)] == [
        "It leaks at times.",
        "To drain the basin, run:\ndrain --all\ndrain --status",
        "Then wait.",
    ]


def test_terms_with_definitions_boxes_and_items_with_empty_lines_between_are_lists_too():
    text = "Kiln\n: 1200 degrees\n\nOven\n\n: 220 degrees\n\n- [x] Release 4\n\n  - [ ] notes by Ada\n"
    assert [(block.text, block.topic) for block in blocks(text)] == [
        ("Kiln", ""),
        ("1200 degrees", "Kiln"),
        ("Oven", ""),
        ("220 degrees", "Oven"),
        ("[x] Release 4", ""),
        ("[ ] notes by Ada", "Release 4"),
    ]
