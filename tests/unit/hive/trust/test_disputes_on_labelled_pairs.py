"""Disputes on labelled pairs: what are called contradictory, rightly and wrongly, within bounds."""

import pytest

from benchmarks.disputes import PARTS, figures, pairs
from hive_mind.hive.trust.contradiction import conflicts
from hive_mind.model.evidence import Statement

OF_DIFFERENT_THINGS = [
    ("Alert 12: threshold 80 %.", "Alert 13: threshold 90 %."),
    ("The table users_3 has 40 rows.", "The table users_8 has 52 rows."),
    ("Patient A takes 500 mg a day.", "Patient B takes 850 mg a day."),
    ("Ferry A leaves at 07:15.", "Ferry B leaves at 07:45."),
    ("Column a is nullable.", "Column b is not nullable."),
    ("Pumpe 3 läuft mit 1450 Umdrehungen.", "Pumpe 4 läuft mit 1800 Umdrehungen."),
]


@pytest.mark.parametrize(("one", "other"), OF_DIFFERENT_THINGS)
def test_names_and_numbers_that_tell_things_apart_are_no_values(one: str, other: str):
    assert not conflicts(Statement(one, "things"), Statement(other, "things"))


UNSPACED_APART = [
    ("ゲートウェイはポート8443で待ち受けます。", "バックアップは毎日午前3時に実行されます。"),
    ("バックアップは毎日午前3時に実行されます。", "保存期間は30日です。"),
    ("サーバー12は東京にあります。", "サーバー13は大阪にあります。"),
    ("网关的端口是8443。", "备份保留30天。"),
    ("服务器12是主机。", "服务器13是备机。"),
]
UNSPACED_DISPUTED = [
    ("ゲートウェイはポート8443で待ち受けます。", "ゲートウェイはポート9443で待ち受けます。"),
    ("保存期間は30日です。", "保存期間は90日です。"),
    ("网关的端口是8443。", "网关的端口是9443。"),
]


@pytest.mark.parametrize(("one", "other"), UNSPACED_APART)
def test_texts_without_spaces_with_numbers_in_them_are_not_disputed_for_that(one: str, other: str):
    assert not conflicts(Statement(one, "memo"), Statement(other, "memo"))


@pytest.mark.parametrize(("one", "other"), UNSPACED_DISPUTED)
def test_two_values_in_texts_without_spaces_are_disputed(one: str, other: str):
    assert conflicts(Statement(one, "memo"), Statement(other, "memo"))


@pytest.mark.parametrize("part", PARTS)
def test_what_is_called_disputed_is(part: str):
    found = figures(pairs(part))
    assert found.precision >= 0.95
    assert found.recall >= 0.8


@pytest.mark.parametrize("part", PARTS)
def test_which_of_two_statements_comes_first_does_not_matter(part: str):
    for pair in pairs(part):
        one, other = Statement(pair.one, pair.concept), Statement(pair.other, pair.concept)

        assert conflicts(one, other) == conflicts(other, one)


def test_the_pairs_are_many_and_of_both_kinds():
    told = [pair for part in PARTS for pair in pairs(part)]
    assert len({(pair.one, pair.other) for pair in told}) == len(told) >= 300
    assert sum(pair.conflict for pair in told) >= 150
