"""Functions of this machine's standard library, asked for by the first sentence of their docstrings, as a data set.

    python -m benchmarks.stdlib_functions FOLDER      # writes stdlib.corpus.jsonl and stdlib.queries.jsonl

Each function is a document without its docstring; a question is the sentence of one of them. The choice is seeded, so the same
Python gives the same set: 2,000 functions, 300 questions.
"""

import ast
import json
import random
import re
import sysconfig
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import parser_of

FUNCTIONS, QUESTIONS, SEED = 2_000, 300, 7
# Not part of the library that programs call.
LEFT_OUT = {"test", "tests", "idle_test", "idlelib", "lib2to3", "turtledemo", "ensurepip", "distutils", "site-packages"}
SENTENCE_WORDS_MIN = 5


@dataclass(frozen=True)
class Function:
    """A function without its docstring, and the first sentence of that."""

    name: str
    code: str
    sentence: str


def functions() -> Iterator[Function]:
    """All that have a docstring with a sentence in it, and code besides."""
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root)
        if LEFT_OUT.isdisjoint(place.parts) and not place.parts[0].startswith("config-"):
            yield from functions_of(place.as_posix(), path.read_bytes())


def functions_of(name: str, source: bytes) -> Iterator[Function]:
    try:
        tree, lines = ast.parse(source), source.decode().splitlines()
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and len(node.body) > 1 and (told := ast.get_docstring(node)):
            sentence = " ".join(re.split(r"(?<=[.!?])\s+|\n\s*\n", told.strip())[0].split())
            if len(sentence.split()) >= SENTENCE_WORDS_MIN and ">>>" not in sentence:
                docstring = node.body[0]
                code = lines[node.lineno - 1 : docstring.lineno - 1] + lines[docstring.end_lineno : node.end_lineno]
                yield Function(f"{name}:{node.lineno}", "\n".join(code), sentence)


def chosen() -> list[Function]:
    """Some of them, no code and no sentence twice."""
    pool = list(functions())
    random.Random(SEED).shuffle(pool)
    seen, kept = set[str](), list[Function]()
    for function in pool:
        texts = {function.sentence, " ".join(function.code.split())}
        if seen.isdisjoint(texts):
            seen |= texts
            kept.append(function)
    return kept[:FUNCTIONS]


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    taken = chosen()
    corpus = [{"_id": function.name, "text": function.code} for function in taken]
    asked = [{"_id": f"q{n}", "text": one.sentence, "qrels": {one.name: 1}} for n, one in enumerate(taken[:QUESTIONS])]
    for name, rows in (("corpus", corpus), ("queries", asked)):
        (folder / f"stdlib.{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=Path, help="outside the repository")
    # Old sources have escapes that the compiler warns of.
    warnings.simplefilter("ignore")
    write(parser.parse_args().folder)


if __name__ == "__main__":
    main()
