"""Long logs are told by a few lines of each pattern."""

from tests.unit.cognition.reading import answer, candidates, extraction, hit, statements


def line(second: int, message: str) -> str:
    return f"2026-05-11 10:{second // 60:02}:{second % 60:02} {message}"


def log(count: int) -> list[str]:
    return [line(second, f"INFO request {second:05} served in {second % 50} ms") for second in range(count)]


def test_a_short_log_is_kept_line_by_line() -> None:
    assert len(statements("\n".join(log(40)))) == 40


def test_of_lines_that_differ_in_numbers_the_first_the_last_and_those_unlike_are_kept_and_the_others_counted_as_left_out() -> (
    None
):
    lines = log(400)
    lines[123] = line(123, "ERROR connection to db-7 refused")
    found = extraction("\n".join(lines))

    assert [one.content for one in found.candidates] == [*log(400)[:5], lines[123], log(400)[-1]]
    labels = [one.labels[-1] for one in found.candidates if one.content != lines[123]]
    assert set(labels) == {"393 lines like it, the last at 2026-05-11 10:06:39"}
    assert [one.reason for one in found.left_out] == ["a log line like others"] * 393


def test_the_same_message_again_and_again_is_kept_once() -> None:
    lines = [*log(60), *(line(600 + second, "ERROR connection to db-7 refused") for second in range(30))]
    (kept,) = [one for one in candidates("\n".join(lines)) if "db-7" in one.content]

    assert kept.labels[-1] == "29 lines like it, the last at 2026-05-11 10:10:29"


def test_how_often_a_line_occurs_is_told_with_its_quotation() -> None:
    told = answer(
        "Which connection was refused?",
        hit("connection to db-7 refused", keyword=9, labels=("29 lines like it, the last at 10:10",)),
    )

    assert told.text.endswith("“connection to db-7 refused” (29 lines like it, the last at 10:10)")
