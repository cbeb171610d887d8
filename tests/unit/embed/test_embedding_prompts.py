import pytest

from hive_mind.embed._model_files import Prompts, prompts_of

BGE = "Represent this sentence for searching relevant passages: "


@pytest.mark.parametrize("model", ["BAAI/bge-base-en-v1.5", "BAAI/bge-small-en", "/models/bge-large-en-v1.5"])
def test_english_bge_models_read_questions_with_their_instruction(model):
    assert prompts_of(model, {}) == Prompts(query=BGE)


@pytest.mark.parametrize("model", ["BAAI/bge-m3", "BAAI/bge-base-zh-v1.5", "sentence-transformers/all-MiniLM-L6-v2"])
def test_other_models_read_plain_text(model):
    assert prompts_of(model, {"query": "", "document": ""}) == Prompts()


def test_a_models_own_prompts_come_first():
    own = {"query": "query: ", "passage": "passage: "}
    assert prompts_of("BAAI/bge-base-en-v1.5", own) == Prompts("query: ", "passage: ")
