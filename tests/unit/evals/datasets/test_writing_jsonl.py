"""Writing a data set in the exchange format."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive_mind.errors import InvalidInput
from hive_mind.evals.datasets import Dataset, Document, LabelledQuestion, Scope, pooled
from hive_mind.evals.datasets.jsonl import load_jsonl, write_jsonl
from hive_mind.evals.datasets.load import load_dataset
from tests.unit.evals.datasets.data_files import conversation

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
wordy = texts.map(lambda text: f"{text}a")
keywords = st.lists(wordy, max_size=2).map(tuple)


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    ids = draw(st.lists(wordy, unique=True, max_size=5))
    some = st.sampled_from(["", "s1", "s2"])
    documents = tuple(
        Document(
            id=id_,
            text=draw(wordy),
            source=draw(wordy),
            said_at=draw(some),
            speaker=draw(texts),
            section=draw(some),
            before=draw(texts),
            meta=draw(st.dictionaries(st.sampled_from(["url", "n", ""]), texts)),
            kind=draw(some),
            topic=draw(texts),
        )
        for id_ in ids
    )
    judged = st.dictionaries(st.sampled_from(ids), st.integers(-1, 3)) if ids else st.just({})
    questions = tuple(
        LabelledQuestion(
            id=id_,
            text=draw(wordy),
            relevant=draw(judged),
            category=draw(texts),
            answer=draw(texts),
            intent=draw(texts),
            source_bias=draw(texts),
            required=draw(keywords),
            acceptable=draw(keywords),
            forbidden=draw(keywords),
            superseded=draw(keywords),
            is_answerable=draw(st.booleans()),
            gap=draw(texts),
            asked_at=draw(texts),
        )
        for id_ in draw(st.lists(wordy, unique=True, max_size=3))
    )
    return Dataset("x y", (Scope("x y", documents, questions),))


@given(datasets())
def test_what_is_written_is_read_again_as_it_was(dataset: Dataset) -> None:
    with TemporaryDirectory() as folder:
        write_jsonl(dataset, Path(folder))

        assert load_jsonl(Path(folder)) == dataset


def test_only_what_a_reader_could_not_know_is_written(tmp_path: Path) -> None:
    corpus, _ = write_jsonl(pooled(load_dataset(conversation(tmp_path))), tmp_path / "written")

    second = json.loads(corpus.read_text("utf-8").splitlines()[1])
    assert second["meta"] == {
        "source": "26/session_1",
        "said_at": "2023-05-08T13:56",
        "speaker": "Bob",
        "section": "26/session_1",
        "kind": "chat",
    }


def test_several_scopes_are_refused_until_they_are_pooled(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="data set 'talks' has 2 scopes and the format has one; pool it first"):
        write_jsonl(Dataset("talks", (Scope("a", (), ()), Scope("b", (), ()))), tmp_path)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", ".hidden"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="its name can't be a file name; give it another one"):
        write_jsonl(Dataset(name, (Scope(name, (), ()),)), tmp_path / "folder")

    assert list(tmp_path.iterdir()) == []


def test_a_field_hidden_in_meta_is_refused(tmp_path: Path) -> None:
    document = Document("d1", "A boat.", "x", meta={"speaker": "Ann"})

    with pytest.raises(InvalidInput, match="document 'd1': its meta has 'speaker', which is a field of its own; rename it"):
        write_jsonl(Dataset("x", (Scope("x", (document,), ()),)), tmp_path)


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", "utf-8")

    with pytest.raises(InvalidInput, match=r"x\.corpus\.jsonl: can't be written \(.*\); give another folder"):
        write_jsonl(Dataset("x", (Scope("x", (), ()),)), tmp_path / "file")
