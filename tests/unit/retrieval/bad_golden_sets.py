"""Golden sets that can't be used, each with what has to be said of it."""

from tests.unit.retrieval.bad import Bad, text


def golden(name: str, *queries: str, says: tuple[tuple[int, str, str], ...]) -> Bad:
    """Questions, one in each line from the second on."""
    return Bad(name, '{"queries": [\n' + ",\n".join(queries) + "\n]}\n", says)


AUTH = '{"query": "How do I authenticate?", "relevant": ["api/auth.md"], "distractors": ["faqs/passwords.md"]}'

GOLDEN_SETS = (
    text("an empty file", "", (1, "golden set", "it is empty; begin with `hive-mind retrieval init`")),
    text("a list of questions", "[]", (1, "golden set", "has to be an object {…}")),
    text("no questions", '{"queries": []}', (1, "queries", "is an empty list; name at least one")),
    golden("no question", '{"relevant": ["api/auth.md"]}', says=((2, "queries[0].query", "is missing; add it"),)),
    golden(
        "an empty question",
        '{"query": "", "relevant": ["api/auth.md"]}',
        says=((2, "queries[0].query", "is empty; give it a value"),),
    ),
    golden(
        "a question of blanks",
        '{"query": "  ", "relevant": ["api/auth.md"]}',
        says=((2, "queries[0].query", "is empty; give it a value"),),
    ),
    golden(
        "a document that is not there",
        '{"query": "x", "relevant": ["api/auht.md"]}',
        says=((2, "queries[0].relevant[0]", "there is no document api/auht.md; did you mean api/auth.md?"),),
    ),
    golden(
        "a document like no other",
        '{"query": "x", "relevant": ["zzz"]}',
        says=(
            (
                2,
                "queries[0].relevant[0]",
                "there is no document zzz; correct its path below the collection's folder, or take it out",
            ),
        ),
    ),
    golden(
        "a document outside",
        '{"query": "x", "relevant": ["../../etc/passwd"]}',
        says=((2, "queries[0].relevant[0]", "leads out of the collection's folder; name documents by their path below it"),),
    ),
    golden(
        "a document by its place on the disk",
        '{"query": "x", "relevant": ["/etc/passwd"]}',
        says=((2, "queries[0].relevant[0]", "leads out of the collection's folder; name documents by their path below it"),),
    ),
    golden(
        "a document that is relevant twice",
        '{"query": "x", "relevant": ["api/auth.md", "api/auth.md"]}',
        says=((2, "queries[0].relevant[1]", "api/auth.md is in the list twice; keep one of them"),),
    ),
    golden(
        "a document that is both",
        '{"query": "x", "relevant": ["api/auth.md"], "distractors": ["api/auth.md"]}',
        says=(
            (
                2,
                "queries[0].distractors[0]",
                "api/auth.md is relevant too, in queries[0].relevant; a document is one or the other",
            ),
        ),
    ),
    golden(
        "a document that is both, by two paths",
        '{"query": "x", "relevant": ["api/auth.md"], "distractors": ["documents/api/auth.md"]}',
        says=(
            (
                2,
                "queries[0].distractors[0]",
                "api/auth.md is relevant too, in queries[0].relevant; a document is one or the other",
            ),
        ),
    ),
    golden(
        "one document as text",
        '{"query": "x", "relevant": "api/auth.md"}',
        says=((2, "queries[0].relevant", 'has to be a list […], not the text "api/auth.md"'),),
    ),
    golden(
        "no labels",
        AUTH,
        '{"query": "x"}',
        says=((3, "queries[1]", "names neither relevant documents nor distractors, so nothing can be measured; name some"),),
    ),
    golden(
        "distractors only, everywhere",
        '{"query": "x", "distractors": ["api/auth.md"]}',
        says=((1, "queries", "no question has a relevant document, so nothing can be found; name some"),),
    ),
    golden(
        "duplicate ids",
        '{"id": "a", "query": "x", "relevant": ["api/auth.md"]}',
        '{"id": "a", "query": "y", "relevant": ["api/auth.md"]}',
        says=((3, "queries[1].id", "a is also the id of queries[0]; give it another, or remove it"),),
    ),
    golden(
        "a question twice",
        AUTH,
        AUTH.replace("How do", "how  DO"),
        says=((3, "queries[1].query", "is the same question as queries[0]; give it another, or remove it"),),
    ),
    golden(
        "a misspelled key",
        '{"query": "x", "relevent": ["api/auth.md"]}',
        says=((2, "queries[0].relevent", "is not known; did you mean relevant?"),),
    ),
    golden(
        "a key of nobody",
        '{"query": "x", "documents": ["api/auth.md"]}',
        says=((2, "queries[0].documents", "is not known; allowed here: id, query, relevant, distractors, split"),),
    ),
    golden(
        "a split of nobody",
        '{"query": "x", "relevant": ["api/auth.md"], "split": "dev"}',
        says=((2, "queries[0].split", 'has to be train or test, not the text "dev"'),),
    ),
    golden(
        "a split for some",
        AUTH.replace("}", ', "split": "test"}'),
        '{"query": "x", "relevant": ["api/auth.md"]}',
        says=((3, "queries[1].split", "has no split and others do; write train or test (1 without)"),),
    ),
)
