"""Long logs are told by a few lines of each pattern."""

from tests.unit.cognition.reading import answer, candidates, extraction, hit, statements


def line(second: int, message: str) -> str:
    return f"2026-05-11 10:{second // 60:02}:{second % 60:02} {message}"


def log(count: int) -> list[str]:
    return [line(second, f"INFO request {second:05} served in {second % 50} ms") for second in range(count)]


def test_a_short_log_is_kept_line_by_line() -> None:
    assert len(statements("\n".join(log(40)))) == 40


def test_of_lines_that_differ_in_numbers_the_first_and_the_last_are_kept_with_how_many_there_are() -> None:
    found = candidates("\n".join(log(400)))

    assert [one.content for one in found] == [*log(400)[:5], log(400)[-1]]
    assert {one.labels[-1] for one in found} == {"394 lines like it, the last at 2026-05-11 10:06:39"}


def test_a_line_that_is_unlike_the_others_is_kept_wherever_it_stands() -> None:
    lines = log(400)
    lines[123] = line(123, "ERROR connection to db-7 refused")

    assert lines[123] in statements("\n".join(lines))


def test_the_same_message_again_and_again_is_kept_once() -> None:
    lines = [*log(60), *(line(600 + second, "ERROR connection to db-7 refused") for second in range(30))]
    (kept,) = [one for one in candidates("\n".join(lines)) if "db-7" in one.content]

    assert kept.labels[-1] == "29 lines like it, the last at 2026-05-11 10:10:29"


def test_what_other_lines_tell_is_named_as_left_out() -> None:
    found = extraction("\n".join(log(400)))

    assert {one.reason for one in found.left_out} == {"a log line like others"}
    assert len(found.left_out) + len(found.candidates) == 400


def test_how_often_a_line_occurs_is_told_with_its_quotation() -> None:
    told = answer(
        "Which connection was refused?",
        hit("connection to db-7 refused", keyword=9, labels=("29 lines like it, the last at 10:10",)),
    )

    assert told.text.endswith("“connection to db-7 refused” (29 lines like it, the last at 10:10)")
