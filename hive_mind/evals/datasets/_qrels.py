"""Judgements as lines of question id, document id and a whole number, with tabs between them, below one line of titles."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.files import read_text
from hive_mind.regex import regex

# Some sets write 1.0, which is the same judgement.
_WHOLE = regex(r"(-?\d{1,9})(?:\.0+)?", re.ASCII)


@dataclass(slots=True)
class Judgements:
    """By question, in the order of the file. `repeated` counts lines that say again what is said already."""

    by_question: dict[str, dict[str, int]] = field(default_factory=dict)
    repeated: int = 0


def read_qrels(path: Path) -> Judgements:
    """The judgements of a file. Raises `InvalidInput` with the line."""
    found = Judgements()
    first_seen: dict[tuple[str, str], int] = {}
    for number, question, document, said in _rows(path):
        place = f"{path}, line {number}"
        grade = _grade(said, place)
        judged = found.by_question.setdefault(question, {})
        if judged.setdefault(document, grade) != grade:
            first = first_seen[question, document]
            raise InvalidInput(
                f"{place}: question {question!r} and document {document!r} are judged {grade} here and {judged[document]} "
                f"on line {first}; keep one"
            )
        if (question, document) in first_seen:
            found.repeated += 1
        first_seen.setdefault((question, document), number)
    return found


def judged_questions(path: Path) -> set[str]:
    """Ids of the questions that a file judges. Raises `InvalidInput`."""
    return {question for _, question, _, _ in _rows(path)}


def _rows(path: Path) -> Iterator[tuple[int, str, str, str]]:
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        columns = [column.strip() for column in line.rstrip("\r").split("\t")]
        if len(columns) != 3 or not all(columns):
            raise InvalidInput(
                f"{path}, line {number}: not three values; write question id, document id and judgement with tabs between them"
            )
        question, document, said = columns
        # Titles, unless somebody left them out.
        if number > 1 or _WHOLE.fullmatch(said):
            yield number, question, document, said


def _grade(said: str, place: str) -> int:
    whole = _WHOLE.fullmatch(said)
    if whole is None or int(whole[1]) < -1:
        raise InvalidInput(
            f"{place}: judgement must be a whole number of at least -1, not {said!r}; -1 is a distractor, above 0 is relevant"
        )
    return int(whole[1])
