"""What does a hybrid question over 100,000 facts cost beside a former state of this project?

Both answer the same questions in turn, each in a process of its own that has the facts in RAM: sentences of DATA as turns of a
conversation of two, twenty a day, and as facts that nobody said. A vector is made of its text's words. CPU time, one thread.

    git worktree add FORMER COMMIT
    python -m benchmarks.against --data DATA --former FORMER [--facts 100000] [--rounds 6]
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.harness import cpu_times_ms, parser_of

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
QUESTIONS = 200


def answering(data: Path, facts: int, is_talk: bool) -> None:
    """Hold the facts, and for each line of the input write down what each question took, in milliseconds."""
    from benchmarks.sentences import collect
    from hive_mind import backends
    from hive_mind.memory.intake import new_fact
    from hive_mind.memory.recall import Recall
    from hive_mind.model.content import Candidate
    from hive_mind.model.query import Query
    from hive_mind.ranking.tokens import tokenize

    chance, known = np.random.default_rng(1), dict[str, np.ndarray]()

    def vector_of(text: str) -> np.ndarray:
        rows = [known.setdefault(term, chance.standard_normal(384, np.float32)) for term in tokenize(text) or [""]]
        total = np.sum(rows, axis=0)
        return np.asarray(total / np.linalg.norm(total), np.float32)

    texts, open_arm, before = collect(data), backends.load("ann", "quantised").open, ""
    recall = Recall(lambda: open_arm(384))
    for number, text in enumerate(texts.passages[:facts]):
        told = Candidate(text, "", 0.8)
        if is_talk:
            day, speaker = np.datetime64("2000-01-01") + number // 20, ("Ines", "Otto")[number % 2]
            told = replace(told, said_at=str(day), speaker=speaker, before=before if number % 20 else "")
            before = f"{speaker}: {text}"
        recall.keep(new_fact(told, "bench", 0), vector_of(text))
    asked = [(Query(text, 10, "hybrid"), vector_of(text)) for text in texts.questions[:QUESTIONS]]
    print("ready", flush=True)
    for _ in sys.stdin:
        print(json.dumps(cpu_times_ms(lambda question: recall.search(*question), asked)), flush=True)


def main() -> None:
    parser = parser_of(__doc__, "data", facts=100_000, rounds=6)
    parser.add_argument("--former", type=Path, help="folder of the other state")
    parser.add_argument("--answering", choices=("talk", "facts"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answering:
        answering(options.data, options.facts, options.answering == "talk")
        return
    here = Path(__file__).resolve()
    for kind in ("facts", "talk"):
        command = [sys.executable, str(here), "--data", str(options.data.resolve()), "--facts", str(options.facts)]
        states = [
            subprocess.Popen(
                [*command, "--answering", kind],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                # The benchmark's helpers are of this state; what they measure is of the other.
                env=os.environ | ONE_THREAD | {"PYTHONPATH": f"{folder}{os.pathsep}{here.parent.parent}"},
            )
            for folder in (here.parent.parent, options.former.resolve())
        ]
        for state in states:
            assert state.stdout is not None
            assert state.stdout.readline() == "ready\n"
        medians = [[asked(state) for state in states] for _ in range(options.rounds + 1)][1:]
        now, then = np.median(medians, axis=0)
        ratios = [round(one / other, 2) for one, other in medians]
        print(f"{kind}: p50 {now:.2f} ms, before {then:.2f} ms, × {now / then:.2f} ({min(ratios)}–{max(ratios)})", flush=True)
        for state in states:
            state.communicate()


def asked(state: "subprocess.Popen[str]") -> float:
    assert state.stdin is not None
    assert state.stdout is not None
    state.stdin.write("again\n")
    state.stdin.flush()
    return float(np.median(json.loads(state.stdout.readline())))


if __name__ == "__main__":
    main()
