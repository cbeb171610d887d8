"""Files in which something was overwritten, of every format: they are read, or refused as any other mistake of a person is."""

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets.load import load_dataset
from tests.unit.evals.datasets.data_files import D1, FACT, Q1, asked, beir, conversation, entry, exchange, lines, longmemeval

WHOLE: Mapping[str, Callable[[Path], Path]] = {
    "exchange": lambda tmp: exchange(tmp, [D1 | {"meta": {"section": "s", "n": 1}}], [Q1 | {"meta": {"required": ["boat"]}}]),
    "BEIR": beir,
    "LongMemEval": lambda tmp: longmemeval(tmp, entry()),
    "LoCoMo": lambda tmp: conversation(tmp, [asked(["D1:1"])]),
    "export": lambda tmp: lines(tmp / "ines.jsonl", [FACT]),
}


@pytest.mark.parametrize("format", WHOLE)
@given(data=st.data())
def test_whatever_happens_to_a_file_it_is_read_or_refused(format: str, data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = WHOLE[format](Path(folder))
        file = data.draw(st.sampled_from(sorted(one for one in Path(folder).rglob("*") if one.is_file())))
        file.write_bytes(data.draw(damaged(file.read_bytes())))

        refusal = refused(path)

        assert refusal is None or folder in refusal


def refused(path: Path) -> str | None:
    """What is said where a data set is refused. Any other error is a defect."""
    try:
        load_dataset(path)
    except InvalidInput as error:
        return str(error)
    return None


@st.composite
def damaged(draw: st.DrawFn, body: bytes) -> bytes:
    """Some bytes replaced by others, of which those that mean something in these formats come often."""
    start = draw(st.integers(0, len(body)))
    end = draw(st.integers(start, min(len(body), start + draw(st.sampled_from([0, 1, 8, 1_000_000])))))
    other = st.sampled_from([b"", b'"', b"null", b"-1", b"[]", b"{}", b"\t", b"\n", b"\xff", b"1e999", b'"\\ud800"', b"9" * 5000])
    return body[:start] + draw(other | st.binary(max_size=8)) + body[end:]
