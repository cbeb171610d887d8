import pytest

from hive_mind.embed.none import NoEmbedder
from hive_mind.errors import InvalidInput
from hive_mind.retrieval.measuring.evaluation import bench_of, evaluate
from hive_mind.retrieval.starting import NAIVE, example, init
from hive_mind.retrieval.validation import check_collection, check_config, check_golden
from hive_mind.runtime.settings import Settings


@pytest.mark.parametrize(("has_embeddings", "method"), [(True, "hybrid"), (False, "keyword")])
def test_what_init_writes_has_no_findings_at_all_and_searches_by_words_without_embeddings(tmp_path, has_embeddings, method):
    workspace = init(tmp_path / "new" / "search", has_embeddings=has_embeddings)

    collection = check_collection(workspace, "quaymaster")
    assert collection.findings == ()
    assert check_golden(workspace, collection.accepted()).findings == ()
    assert check_config(workspace, NAIVE, has_embeddings=has_embeddings).findings == ()
    assert workspace.config(NAIVE).retrieval.method == method
    assert workspace.active() == workspace.config(NAIVE)


def test_the_example_is_what_was_promised(tmp_path):
    workspace = init(tmp_path)
    golden, config = workspace.golden(), workspace.config(NAIVE)

    assert len([name for name in example() if name.startswith("documents/")]) == 43
    assert (len(golden.split("train")), len(golden.split("test"))) == (15, 15)
    assert all(one.relevant and one.distractors for one in golden.queries)
    assert (config.retrieval.top_k, config.filters, config.dynamic_k.enabled) == (10, {}, False)


async def test_the_naive_configuration_suffers_in_both_halves_alike(tmp_path):
    workspace = init(tmp_path, has_embeddings=False)

    async with bench_of(workspace, Settings(embed="none"), NoEmbedder()).open("quaymaster") as index:
        train, test = [await evaluate(index, workspace.config(NAIVE), workspace.golden(), split) for split in ("train", "test")]

    assert 0.0 < test.nudcg < 0.4
    assert 0.0 < train.nudcg < 0.4
    # A traditional measure sees next to nothing of it.
    assert min(train.estimate("ndcg").mean, test.estimate("ndcg").mean) > 0.8
    assert min(train.distractors_in(5), test.distractors_in(5)) >= 18


def test_nothing_is_overwritten(tmp_path):
    init(tmp_path)
    (tmp_path / "configs" / f"{NAIVE}.json").write_text("{}")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}

    with pytest.raises(InvalidInput, match=r"is not empty \(configs/v1-naive.json\), and nothing is overwritten"):
        init(tmp_path)

    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before


def test_a_folder_with_other_files_is_refused_and_an_interrupted_call_is_completed(tmp_path):
    init(tmp_path / "half")
    (tmp_path / "half" / "evals" / "golden.json").unlink()

    assert len(init(tmp_path / "half").golden().queries) == 30
    (tmp_path / "other").mkdir()
    for number in range(43):
        (tmp_path / "other" / f"{number}.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="and 40 more"):
        init(tmp_path / "other")
    with pytest.raises(InvalidInput, match="is a file"):
        init(tmp_path / "other" / "1.txt")
