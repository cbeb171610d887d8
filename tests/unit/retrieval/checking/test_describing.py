"""Who writes a configuration finds out what a collection has."""

from hive_mind.retrieval.contradictions import VALUES_SHOWN, FieldDescription, contents, described
from tests.unit.retrieval.workspaces import workspace


def test_fields_are_described_with_their_values_and_counts(tmp_path):
    here = workspace(tmp_path)
    collection = here.collection("kb")
    held = contents(here, collection)

    told = described(collection, held.facets, len(held.documents))

    assert (told.name, told.documents, told.skipped) == ("kb", 4, ())
    assert told.fields[0] == FieldDescription("category", "keyword", True, (("api", 2), ("faqs", 1), ("tutorials", 1)), 3)
    assert [(one.name, one.is_filterable) for one in told.fields] == [("category", True), ("title", False)]


def test_what_documents_have_and_nobody_declared_is_shown_too(tmp_path):
    here = workspace(tmp_path, collection='{"name": "kb"}')
    (tmp_path / "documents" / "notes.md").write_text("---\nauthor: ada\n---\n# Notes\n")
    collection = here.collection("kb")
    held = contents(here, collection)

    fields = {one.name: one for one in described(collection, held.facets, len(held.documents)).fields}

    assert fields["author"] == FieldDescription("author", "not declared", False, (("ada", 1),), 1)
    assert fields["category"].type == "not declared"
    assert "path" not in fields


def test_of_many_values_the_most_frequent_are_shown(tmp_path):
    collection = workspace(tmp_path).collection("kb")

    field = described(collection, {"category": {f"value-{n:03}": n for n in range(1, 201)}}, 200).fields[0]

    assert (field.values_count, len(field.values), field.values[0]) == (200, VALUES_SHOWN, ("value-200", 200))
