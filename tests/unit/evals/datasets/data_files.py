"""Files of data sets, as small as can be, for the tests of this folder."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

FACT = {"type": "fact", "content": "It is red.", "confidence": 0.8, "sources": ["notes"], "learned_at_us": 1}
"""A line of an export."""
D1, Q1 = {"_id": "d1", "text": "A boat floats."}, {"_id": "q1", "text": "What floats?", "qrels": {"d1": 1}}
"""A line of either file of the exchange format."""


def lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def exchange(folder: Path, corpus: list[Any] | bytes, queries: list[Any] | bytes) -> Path:
    """The two files of a set in the exchange format, from rows or as they are."""
    for kind, rows in (("corpus", corpus), ("queries", queries)):
        body = rows if isinstance(rows, bytes) else "".join(json.dumps(row) + "\n" for row in rows).encode()
        (folder / f"x.{kind}.jsonl").write_bytes(body)
    return folder


def beir(folder: Path, *, corpus: Any = None, queries: Any = None, **parts: str) -> Path:
    """A BEIR folder; each part is its judgements without the titles, with spaces for tabs."""
    lines(folder / "corpus.jsonl", corpus or [{"_id": "d1", "title": "Boats", "text": "A boat floats."}])
    lines(folder / "queries.jsonl", queries or [{"_id": "q1", "text": "What floats?"}])
    for part, judgements in (parts or {"test": "q1 d1 1"}).items():
        qrels(folder, part, judgements)
    return folder


def qrels(folder: Path, part: str, judgements: str, titles: str = "query-id\tcorpus-id\tscore\n") -> Path:
    """One file of judgements."""
    path = folder / "qrels" / f"{part}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(titles + judgements.replace(" ", "\t").replace("|", "\n") + "\n", "utf-8")
    return path


def entry(**changes: Any) -> dict[str, Any]:
    """One question of LongMemEval with two sessions, the second of which answers it. None takes a key away."""
    whole = {
        "question_id": "e47b",
        "question_type": "single-session-user",
        "question": "What did I name my boat?",
        "answer": "Marlin",
        "question_date": "2023/06/01 (Thu) 09:15",
        "haystack_session_ids": ["sharegpt_7", "answer_1"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/30 (Tue) 23:40"],
        "haystack_sessions": [
            [{"role": "user", "content": "How do planes fly?"}, {"role": "assistant", "content": "By lift."}],
            [
                {"role": "user", "content": "I named my boat Marlin.", "has_answer": True},
                {"role": "assistant", "content": "A fine name.", "has_answer": False},
            ],
        ],
        "answer_session_ids": ["answer_1"],
    }
    return {key: value for key, value in (whole | changes).items() if value is not None}


def longmemeval(folder: Path, *entries: Mapping[str, Any], name: str = "longmemeval_s.json") -> Path:
    """A file of LongMemEval."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(list(entries)), "utf-8")
    return path


def conversation(folder: Path, questions: Iterable[Mapping[str, Any]] = (), name: str = "26.json", **changes: Any) -> Path:
    """One conversation of LoCoMo with two turns."""
    folder.mkdir(parents=True, exist_ok=True)
    turns = [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "I bought a boat."},
        {"speaker": "Bob", "dia_id": "D1:2", "text": "Show me!"},
    ]
    whole = {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": turns, "qa": list(questions)}
    path = folder / name
    path.write_text(json.dumps(whole | changes), "utf-8")
    return path


def asked(evidence: list[str], **more: Any) -> dict[str, Any]:
    """One question of LoCoMo."""
    return {"question": "What did Ann buy?", "answer": "a boat", "evidence": evidence, "category": 4} | more


def question_file(folder: Path, *questions: Mapping[str, Any]) -> Path:
    """A question file of document 003."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "questions.json"
    path.write_text(json.dumps({"schema": {"id": "Stable unique id."}, "questions": list(questions)}), "utf-8")
    return path
