"""Data sets as they are met in the wild: what can't be read is refused in one exact sentence.

Every broken set is made here and read by `load_dataset` without being told its format. Counts are in `test_left_out.py`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.load import load_dataset
from tests.unit.evals.datasets.data_files import D1, Q1, asked, beir, conversation, entry, exchange, longmemeval, question_file


def with_bytes(path: Path, body: bytes) -> Path:
    path.write_bytes(body)
    return path


def without(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).unlink()
    return folder


def in_other_encoding(folder: Path, name: str, encoding: str) -> Path:
    text = (folder / name).read_text("utf-8").replace("floats", "schwämme")
    (folder / name).write_text(text, encoding)
    return folder


REFUSED: Mapping[str, tuple[Callable[[Path], Path], str]] = {
    "no such folder": (lambda tmp: tmp / "gone", "{tmp}/gone: there is no such file or folder; check the path"),
    "an archive": (
        lambda tmp: with_bytes(tmp / "scifact.zip", b"PK"),
        "{tmp}/scifact.zip: not a data set; give a .json file of LoCoMo or LongMemEval, NAME.corpus.jsonl, "
        "or a folder of those or BEIR's",
    ),
    "a question file alone": (
        lambda tmp: question_file(tmp, {"id": "q", "question": "?", "relevant_knowledge_node_uuids": []}),
        "{tmp}/questions.json: a question file, which has no documents; give it as the `questions` of a data set",
    ),
    "exchange: questions missing": (
        lambda tmp: without(exchange(tmp, [D1], [Q1]), "x.queries.jsonl"),
        "{tmp}/x.queries.jsonl: can't be read (No such file or directory); check the path",
    ),
    "exchange: a line cut off": (
        lambda tmp: exchange(tmp, b'{"_id": "d1", "text": "A boat"}\n{"_id": "d2", "te', [Q1]),
        "{tmp}/x.corpus.jsonl, line 2: Input data was truncated; correct this line",
    ),
    "exchange: no text": (
        lambda tmp: exchange(tmp, [{"_id": "d1"}], [Q1]),
        "{tmp}/x.corpus.jsonl, line 1: Object missing required field `text`; correct this line",
    ),
    "exchange: a list of lists of lists": (
        lambda tmp: exchange(tmp, b"[" * 100_000, [Q1]),
        "{tmp}/x.corpus.jsonl, line 1: Expected `object`, got `array`; correct this line",
    ),
    "exchange: two documents of one id": (
        lambda tmp: exchange(tmp, [D1, {"_id": "d2", "text": "Two"}, D1], [Q1]),
        "{tmp}/x.corpus.jsonl, line 3: _id 'd1' is already on line 1; rename one",
    ),
    "exchange: two questions of one id": (
        lambda tmp: exchange(tmp, [D1], [Q1, Q1]),
        "{tmp}/x.queries.jsonl, line 2: _id 'q1' is already on line 1; rename one",
    ),
    "exchange: an empty id": (
        lambda tmp: exchange(tmp, [{"_id": "", "text": "Boat"}], [Q1]),
        "{tmp}/x.corpus.jsonl, line 1: Expected `str` of length >= 1 - at `$._id`; correct this line",
    ),
    "exchange: Latin-1": (
        lambda tmp: in_other_encoding(exchange(tmp, [{"_id": "d0", "text": "?"}, D1], [Q1]), "x.corpus.jsonl", "latin-1"),
        "{tmp}/x.corpus.jsonl, line 2: not UTF-8; save the file as UTF-8",
    ),
    "exchange: UTF-16": (
        lambda tmp: in_other_encoding(exchange(tmp, [D1], [Q1]), "x.queries.jsonl", "utf-16"),
        "{tmp}/x.queries.jsonl: is UTF-16; save the file as UTF-8",
    ),
    "exchange: a judgement in words": (
        lambda tmp: exchange(tmp, [D1], [Q1 | {"qrels": {"d1": "yes"}}]),
        "{tmp}/x.queries.jsonl, line 1: Expected `int`, got `str` - at `$.qrels[...]`; correct this line",
    ),
    "exchange: a judgement below a distractor's": (
        lambda tmp: exchange(tmp, [D1], [Q1 | {"qrels": {"d1": -2}}]),
        "{tmp}/x.queries.jsonl, line 1: Expected `int` >= -1 - at `$.qrels[...]`; correct this line",
    ),
    "exchange: keywords that are no list": (
        lambda tmp: exchange(tmp, [D1], [Q1 | {"meta": {"required": "boat"}}]),
        "{tmp}/x.queries.jsonl, line 1: Expected `array`, got `str` - at `$.meta.required`; correct this line",
    ),
    "exchange: half a character": (
        lambda tmp: exchange(tmp, b'{"_id": "d1", "text": "A boat \\ud83d floats"}', [Q1]),
        "{tmp}/x.corpus.jsonl, line 1: JSON is malformed: unexpected end of escaped utf-16 surrogate pair (byte 36); "
        "correct this line",
    ),
    "BEIR: no documents": (
        lambda tmp: without(beir(tmp), "corpus.jsonl"),
        "{tmp}/corpus.jsonl: can't be read (No such file or directory); check the path",
    ),
    "BEIR: no judgements": (
        lambda tmp: without(beir(tmp), "qrels/test.tsv"),
        "{tmp}: holds no qrels/PART.tsv; add the judgements, as qrels/test.tsv",
    ),
    "BEIR: judgements in four columns": (
        lambda tmp: beir(tmp, test="q1 0 d1 1"),
        "{tmp}/qrels/test.tsv, line 2: not three values; write question id, document id and judgement with tabs between them",
    ),
    "BEIR: a judgement without its number": (
        lambda tmp: beir(tmp, test="q1 d1 1|q1 d1 high"),
        "{tmp}/qrels/test.tsv, line 3: judgement must be a whole number of at least -1, not 'high'; "
        "-1 is a distractor, above 0 is relevant",
    ),
    "BEIR: a judgement below a distractor's": (
        lambda tmp: beir(tmp, test="q1 d1 -2"),
        "{tmp}/qrels/test.tsv, line 2: judgement must be a whole number of at least -1, not '-2'; "
        "-1 is a distractor, above 0 is relevant",
    ),
    "BEIR: judgements that contradict each other": (
        lambda tmp: beir(tmp, test="q1 d1 1|q1 d1 0"),
        "{tmp}/qrels/test.tsv, line 3: question 'q1' and document 'd1' are judged 0 here and 1 on line 2; keep one",
    ),
    "BEIR: judgements in Latin-1": (
        lambda tmp: in_other_encoding(beir(tmp, test="q1 d1 1|q1 floats 1"), "qrels/test.tsv", "latin-1"),
        "{tmp}/qrels/test.tsv, line 3: not UTF-8; save the file as UTF-8",
    ),
    "LongMemEval: sessions without dates": (
        lambda tmp: longmemeval(tmp, entry(haystack_dates=["2023/05/20 (Sat) 02:21"])),
        "{tmp}/longmemeval_s.json, entry 1, question e47b: 2 haystack_session_ids, 1 haystack_dates and 2 haystack_sessions; "
        "give every session its id and its date",
    ),
    "LongMemEval: no date": (
        lambda tmp: longmemeval(tmp, entry(haystack_dates=["yesterday", "2023/05/30"])),
        "{tmp}/longmemeval_s.json, entry 1, question e47b, session sharegpt_7: 'yesterday' is not a time; "
        'write it like "2023/05/20 (Sat) 02:21"',
    ),
    "LongMemEval: a day that does not exist": (
        lambda tmp: longmemeval(tmp, entry(), entry(question_id="2", question_date="2023/02/30 (Thu) 09:15")),
        "{tmp}/longmemeval_s.json, entry 2, question 2, question_date: '2023/02/30 (Thu) 09:15' does not exist "
        "(day is out of range for month); correct it",
    ),
    "LongMemEval: different sessions of one id": (
        lambda tmp: longmemeval(tmp, entry(haystack_session_ids=["answer_1", "answer_1"])),
        "{tmp}/longmemeval_s.json, entry 1, question e47b: several sessions are called 'answer_1'; give each its own id",
    ),
    "LongMemEval: a question twice": (
        lambda tmp: longmemeval(tmp, entry(), entry()),
        "{tmp}/longmemeval_s.json: question 'e47b' comes twice; remove one of them",
    ),
    "LongMemEval: a question without its type": (
        lambda tmp: longmemeval(tmp, entry(), entry(question_type=None)),
        "{tmp}/longmemeval_s.json, entry 2: Object missing required field `question_type`; correct it or download the file again",
    ),
    "LongMemEval: a turn that is no turn": (
        lambda tmp: longmemeval(tmp, entry(haystack_sessions=[["Hello"], []])),
        "{tmp}/longmemeval_s.json, entry 1: Expected `object`, got `str` - at `$.haystack_sessions[0][0]`; "
        "correct it or download the file again",
    ),
    "LoCoMo: cut off": (
        lambda tmp: with_bytes(tmp / "26.json", b'{"session_1": [\n{"speaker": "Ann",\n'),
        "{tmp}/26.json, line 3: not JSON (Expecting property name enclosed in double quotes: line 3 column 1 (char 35)); "
        "correct it or download the file again",
    ),
    "LoCoMo: a number that is none": (
        lambda tmp: with_bytes(conversation(tmp), b'{"session_1": NaN}'),
        "{tmp}/26.json, line 1: not JSON (JSON is malformed: invalid character (byte 14)); correct it or download the file again",
    ),
    "LoCoMo: a number of five thousand digits": (
        lambda tmp: with_bytes(conversation(tmp), b"9" * 5000),
        "{tmp}/26.json, line 1: not JSON (Integer value out of range); correct it or download the file again",
    ),
    "LoCoMo: two turns of one id": (
        lambda tmp: conversation(tmp, session_1=[{"speaker": "Ann", "dia_id": "D1:1", "text": "Hi."}] * 2),
        "{tmp}/26.json, conversation 26: several turns are called 'D1:1'; give each its own dia_id",
    ),
    "LoCoMo: evidence that is no list": (
        lambda tmp: conversation(tmp, [asked([]) | {"evidence": "D1:1"}]),
        "{tmp}/26.json, conversation 26, qa: Expected `array`, got `str` - at `$[0].evidence`; "
        "correct it or download the file again",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused_in_one_exact_sentence(tmp_path: Path, case: str) -> None:
    make, said = REFUSED[case]
    path = make(tmp_path)

    with pytest.raises(InvalidInput) as caught:
        load_dataset(path)

    assert str(caught.value) == said.replace("{tmp}", str(tmp_path))
