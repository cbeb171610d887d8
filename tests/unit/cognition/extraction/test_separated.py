"""Separated values are read row by row, and what only looks like them is not."""

import pytest

from hive_mind.cognition.extraction.blocks import Layout, blocks
from hive_mind.cognition.extraction.separated import fields_of, rows_of
from tests.unit.cognition.reading import candidates, hit, statements

TABLE = "name,port,owner\ngateway,8443,Ines\nrelay,9001,Marek"


@pytest.mark.parametrize("separator", [",", ";", ", "], ids=repr)
def test_every_row_is_a_fact_about_its_first_field_with_the_header_before_it(separator: str):
    table = TABLE.replace(",", separator)

    assert [(c.content, c.concept, c.before) for c in candidates(table)] == [
        (row, row.split(separator)[0], table.splitlines()[0]) for row in table.splitlines()[1:]
    ]


def test_fields_between_tabs_keep_their_bounds_when_they_hold_spaces_and_semicolons():
    found = candidates("Name\tRole\tDesk\nMei Lin Tan\tcustoms clerk; deputy\tOld toll house\nBen Okafor\tcrane operator\tDock 4")

    assert [(c.content, c.concept, c.before) for c in found] == [
        ('Mei Lin Tan;"customs clerk; deputy";Old toll house', "Mei Lin Tan", "Name;Role;Desk"),
        ("Ben Okafor;crane operator;Dock 4", "Ben Okafor", "Name;Role;Desk"),
    ]
    assert [fields["desk"] for c in found if (fields := fields_of(hit(c.content, concept=c.concept, before=c.before).fact))] == [
        "Old toll house",
        "Dock 4",
    ]


def test_rows_with_a_figure_above_them_have_no_header_and_nothing_before_them():
    assert [(c.content, c.before) for c in candidates("a1,Ines\nb2,Marek\nc3,Otto")] == [
        ("a1,Ines", ""),
        ("b2,Marek", ""),
        ("c3,Otto", ""),
    ]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("part,price_eur,unitWeight", "part,price eur,unit Weight"),
        ("part,Q1,Q2", "part,Q1,Q2"),
        ("part,sales_2025,CO2", "part,sales 2025,CO2"),
    ],
)
def test_names_of_columns_are_read_as_words_and_may_have_digits(header: str, words: str):
    assert [c.before for c in candidates(f"{header}\nA-1,12.50,3\nA-2,11.00,4")] == [words, words]


def test_one_row_is_a_table_where_columns_are_named_and_it_has_figures():
    assert [c.before for c in candidates("part,weight_kg\nZ-77,12.5")] == ["part,weight kg"]
    assert rows_of(["Hello Ana,dear Ben", "see you,soon"]) is None
    assert rows_of(["Hello Ana, dear Ben", "we are, 12"]) is None


def test_columns_of_one_name_are_no_header():
    assert statements("Ines,Ines\nMarek,Otto\nZoe,Ana")[0] == "Ines,Ines"


def test_a_separator_in_quotation_marks_belongs_to_its_field_and_the_line_stays_as_it_stands():
    (first, second) = candidates('name,note\n"relay, old","says ""hi"""\ngateway,new')

    assert (first.content, first.concept) == ('"relay, old","says ""hi"""', "relay, old")
    assert second.concept == "gateway"


def test_a_table_may_stand_between_paragraphs_and_under_a_heading_and_comes_before_none():
    text = f"# Ports\nAll of them:\n{TABLE}\n\nThe list ends here, says Ines."
    found = blocks(text)

    assert [block.layout for block in found] == [Layout.PROSE, Layout.RECORD, Layout.RECORD, Layout.PROSE]
    assert {block.heading for block in found} == {"Ports"}
    assert candidates(f"{TABLE}\n\nThe list ends here, says Ines.")[-1].before == ""


@pytest.mark.parametrize(
    "prose",
    [
        "We met Ana, who was late.\nWe met Ben, who was early.\nWe met Zoe, who was ill.",
        "Ana came home, tired\nBen stayed out, late\nZoe slept, long",
        "Bread, two loaves\nMilk, one litre\nSoap, any kind",
        "O little boat,\nthat left the quay,\nand never came,",
        "Ana: I like tea, not coffee\nBen: I like milk, not tea\nAna: You like milk, really?",
        "Ana: I say yes,no\nBen: I say no,yes\nAna: You say yes,yes",
        "- apples,red\n- pears,green\n- plums,blue",
        "1.\tapples\n2.\tpears\n3.\tplums",
        "Rent 1,200 EUR\nHeat 2,300 EUR\nFood 3,400 EUR",
        "Owner:\tAna\nPlace:\tPorto\nBudget:\t5000",
        "Hosts: a,b\nPorts: 1,2\nOwners: x,y",
        "| a,b |\n| c,d |\n| e,f |",
        "2025-03-11 10:00:00,123 disk full\n2025-03-11 10:00:01,123 disk fine\n2025-03-11 10:00:02,123 disk gone",
        "x = 1;\ny = 2;\nz = 3;",
        "a,b\nc,d",
        "a,b\nc,d\ne,f,g",
        'a,"b\nc,d\ne,f',
        "```\na,1\nb,2\nc,3\n```",
    ],
)
def test_what_only_has_as_many_commas_is_no_table(prose: str):
    assert Layout.RECORD not in {block.layout for block in blocks(prose)}


def test_too_few_lines_are_no_table():
    assert rows_of([]) is None
    assert rows_of(["a,1", "b,2"]) is None


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_row_is_known_again_by_its_header(separator: str):
    row, header = (line.replace(",", separator) for line in ("relay,9001,Marek", "name,port,owner"))

    fields = fields_of(hit(row, concept="relay", before=header).fact)

    assert fields == {"name": "relay", "port": "9001", "owner": "Marek"}


@pytest.mark.parametrize(
    ("content", "before"),
    [
        ("Ana sold it.", "Ben bought boats"),
        ("Ana, I sold it", "Well, you did"),
        ("Ana,1", "Ben,2"),
        ("Ana,1", "name,port,owner"),
        ("Ana,1", ""),
    ],
)
def test_a_sentence_is_not_taken_for_a_row(content: str, before: str):
    assert not fields_of(hit(content, concept="Ana", before=before).fact)
