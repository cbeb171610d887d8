"""Configurations that can't be used, each with what has to be said of it."""

from hive_mind.retrieval.files.configuration import RetrievalConfig
from tests.unit.retrieval.bad import Bad, text


def config(name: str, body: str, *says: tuple[int, str, str]) -> Bad:
    """A configuration with this in its second line."""
    return Bad(name, '{"name": "v1", "collection": "kb",\n' + body + "}\n", says)


CONFIGS = (
    text("an empty file", "", (1, "configuration", "it is empty; begin with `hive-mind retrieval init`")),
    text("nothing but a comment", "// later\n", (2, "configuration", "it is empty; begin with `hive-mind retrieval init`")),
    text("bytes that are no UTF-8", b'{"name": "caf\xe9"}', (1, "configuration", "this is not UTF-8; save the file as UTF-8")),
    text("a list", '["v1"]', (1, "configuration", "has to be an object {…}")),
    text(
        "two configurations",
        '{"name": "v1"} {"name": "v2"}',
        (1, "configuration", "something follows after the end of the configuration; look at the brackets"),
    ),
    text(
        "a bracket that is never closed",
        '{"name": "v1",\n "retrieval": {"top_k": 5}\n',
        (1, "configuration", "the bracket of line 1 is never closed; add }"),
    ),
    text(
        "a comment that is never closed",
        '{"name": "v1"} /* later',
        (1, "configuration", "a comment that begins with /* is never closed; add */"),
    ),
    text("a comma too many", '{"name": "v1",\n}', (2, "configuration", "a comma before }; remove it")),
    text("a comma too few", '{"name": "v1"\n "collection": "kb"}', (2, "configuration", "a comma or } is missing before this")),
    text("a key without quotes", '{name: "v1"}', (1, "configuration", 'a key must be in double quotes: "name"')),
    text("single quotes", "{'name': 'v1'}", (1, "configuration", 'a key must be in double quotes: "name"')),
    text(
        "text over two lines",
        '{"name": "v1\n"}',
        (1, "configuration", "text ends at the end of its line: a quote is missing, or write \\n for a new line"),
    ),
    text("no name", '{"collection": "kb"}', (1, "name", "is missing; add it")),
    text("fifty brackets", "[" * 50, (1, "configuration", "nested deeper than 30; a configuration needs three levels")),
    text("a megabyte", "// " + "x" * 1_000_000, (0, "configuration", "the file is larger than 1,000,000 bytes")),
    text(
        "a name that leaves the folder",
        '{"name": "../v1", "collection": "kb"}',
        (1, "name", "has to be 1 to 64 letters, digits, '.', '_' and '-', with a letter or digit first"),
    ),
    text(
        "a name that is another's",
        '{"name": "v2", "collection": "kb"}',
        (1, "name", "is v2 and the file is v1.json; make them equal, or results can't be distinguished"),
    ),
    text(
        "a collection that leads out",
        '{"name": "v1", "collection": "../../etc/passwd"}',
        (1, "collection", "has to be 1 to 64 letters, digits, '.', '_' and '-', with a letter or digit first"),
    ),
    text(
        "a collection that is not there",
        '{"name": "v1", "collection": "kbb"}',
        (1, "collection", "there is no collection kbb; did you mean kb?"),
    ),
    config("true for a number", '"retrieval": {"top_k": true}', (2, "retrieval.top_k", "has to be a whole number, not true")),
    config("half a result", '"retrieval": {"top_k": 2.5}', (2, "retrieval.top_k", "has to be a whole number, not 2.5")),
    config(
        "a number as text", '"retrieval": {"top_k": "5"}', (2, "retrieval.top_k", 'has to be a whole number, not the text "5"')
    ),
    config("a number for text", '"rerank": {"model": 7}', (2, "rerank.model", 'has to be text; put it in quotes: "7"')),
    config(
        "nothing for a number",
        '"retrieval": {"top_k": null}',
        (2, "retrieval.top_k", "has no value; give it one, or leave the line out"),
    ),
    config("no results", '"retrieval": {"top_k": 0}', (2, "retrieval.top_k", "has to be at least 1")),
    config(
        "NaN", '"retrieval": {"semantic_weight": NaN}', (2, "retrieval.semantic_weight", "NaN is not a number in JSON; write one")
    ),
    config(
        "an infinite weight",
        '"retrieval": {"semantic_weight": Infinity}',
        (2, "retrieval.semantic_weight", "Infinity is not a number in JSON; write one"),
    ),
    config(
        "a number beyond all numbers",
        '"dynamic_k": {"gap_threshold_factor": 1e999}',
        (2, "dynamic_k.gap_threshold_factor", "1e999 is too large a number"),
    ),
    config(
        "a whole number beyond all",
        '"retrieval": {"top_k": 99999999999999999999}',
        (2, "retrieval.top_k", "99999999999999999999 is too large a number"),
    ),
    config(
        "an octal number",
        '"retrieval": {"top_k": 010}',
        (2, "retrieval.top_k", "010 is not a number in JSON, such as 0.5, 60 or 1e-3"),
    ),
    config(
        "a weight above one", '"retrieval": {"semantic_weight": 1.5}', (2, "retrieval.semantic_weight", "has to be at most 1")
    ),
    config(
        "a negative threshold",
        '"distraction_detection": {"disagreement_threshold": -0.1}',
        (2, "distraction_detection.disagreement_threshold", "has to be at least 0"),
    ),
    config("a boost that would decide", '"boosts": {"trust": 2}', (2, "boosts.trust", "has to be at most 0.3")),
    config("Python's True", '"dynamic_k": {"enabled": True}', (2, "dynamic_k.enabled", "True is not JSON; write true")),
    config("yes", '"dynamic_k": {"enabled": "yes"}', (2, "dynamic_k.enabled", 'has to be true or false, not the text "yes"')),
    config(
        "a word without quotes",
        '"retrieval": {"method": hybrid}',
        (2, "retrieval.method", 'text must be in double quotes: "hybrid"'),
    ),
    config(
        "a misspelled method",
        '"retrieval": {"method": "hybird"}',
        (2, "retrieval.method", 'has to be keyword, vector or hybrid, not the text "hybird"; did you mean hybrid?'),
    ),
    config("a number for a section", '"dynamic_k": 5', (2, "dynamic_k", "has to be an object {…}, not 5")),
    config(
        "a filter value that is no list",
        '"filters": {"category": "faqs"}',
        (2, "filters.category", 'has to be a list […], not the text "faqs"'),
    ),
    config(
        "a filter value that is no text",
        '"filters": {"category": [1]}',
        (2, "filters.category[0]", 'has to be text; put it in quotes: "1"'),
    ),
    config("a filter by an empty text", '"filters": {"category": [""]}', (2, "filters.category[0]", "is empty; give it a value")),
    config("filters as a list", '"filters": ["category"]', (2, "filters", "has to be an object {…}, not a list")),
    config("a key of nobody", '"zzz": 1', (2, "zzz", f"is not known; allowed here: {', '.join(RetrievalConfig.model_fields)}")),
    config(
        "a key of nobody in a section",
        '"dynamic_k": {"cliff": true}',
        (
            2,
            "dynamic_k.cliff",
            "is not known; allowed here: enabled, gap_threshold_factor, min_results, max_results",
        ),
    ),
    config("a misspelled key", '"retrieval": {"topk": 5}', (2, "retrieval.topk", "is not known; did you mean top_k?")),
    config("a key in camelCase", '"dynamicK": {}', (2, "dynamicK", "is not known; did you mean dynamic_k?")),
    config("a key one level too high", '"top_k": 5', (2, "top_k", "is not known here; did you mean retrieval.top_k?")),
    config(
        "a key twice",
        '"retrieval": {"top_k": 5,\n"top_k": 6}',
        (3, "retrieval.top_k", "occurs twice in its section, first in line 2; keep one of them"),
    ),
    config(
        "an unknown field",
        '"filters": {"categry": ["faqs"]}',
        (2, "filters.categry", "is not a field of collection kb; did you mean category?"),
    ),
    config(
        "a field of nobody",
        '"filters": {"zzz": ["faqs"]}',
        (2, "filters.zzz", "is not a field of collection kb; these can filter: category"),
    ),
    config(
        "a field that can't filter",
        '"filters": {"title": ["First steps"]}',
        (2, "filters.title", 'can\'t filter; give it "filterable": true in collections/kb.json, or remove the filter'),
    ),
    config(
        "a value that no document has",
        '"filters": {"category": ["faq"]}',
        (
            2,
            "filters.category[0]",
            'no document has category "faq"; did you mean faqs? There are api (2), faqs (1), tutorials (1)',
        ),
    ),
    config(
        "a value like no other",
        '"filters": {"category": ["zzzzzz"]}',
        (2, "filters.category[0]", 'no document has category "zzzzzz"; there are api (2), faqs (1), tutorials (1)'),
    ),
    config(
        "an empty filter",
        '"filters": {"category": []}',
        (
            2,
            "filters.category",
            "is an empty list and would match nothing; name values, or remove it; there are api (2), faqs (1), tutorials (1)",
        ),
    ),
    config(
        "more than top_k",
        '"retrieval": {"top_k": 5}, "dynamic_k": {"enabled": true, "max_results": 8}',
        (2, "dynamic_k.max_results", "is 8 and retrieval.top_k is 5; lower it to 5, or raise top_k"),
    ),
    config(
        "more than top_k, switched off",
        '"retrieval": {"top_k": 5}, "dynamic_k": {"max_results": 8}',
        (2, "dynamic_k.max_results", "is 8 and retrieval.top_k is 5; lower it to 5, or raise top_k"),
    ),
    config(
        "a minimum above the maximum",
        '"dynamic_k": {"enabled": true, "min_results": 6, "max_results": 4}',
        (2, "dynamic_k.min_results", "is 6 and max_results is 4; lower it to at most 4, or raise max_results"),
    ),
    config(
        "a minimum above top_k",
        '"retrieval": {"top_k": 3}, "dynamic_k": {"enabled": true, "min_results": 4}',
        (2, "dynamic_k.min_results", "is 4 and retrieval.top_k is 3; lower it to at most 3, or raise retrieval.top_k"),
    ),
    config(
        "detection without meaning",
        '"retrieval": {"method": "keyword"}, "distraction_detection": {"enabled": true}',
        (
            2,
            "distraction_detection.enabled",
            "compares words with meaning, and the method is keyword; use hybrid, signal coverage, or switch it off",
        ),
    ),
    config(
        "half of a character",
        '"filters": {"category": ["\\ud800"]}',
        (2, "filters.category[0]", "contains an unpaired surrogate; write the whole character"),
    ),
    config(
        "an unknown escape",
        '"filters": {"category": ["a\\q"]}',
        (2, "configuration", "unknown escape sequence after \\; write \\\\"),
    ),
    config(
        "several at once",
        '"retrieval": {"topk": 5,\n"rrf_k": 0},\n"filters": "none"',
        (2, "retrieval.topk", "is not known; did you mean top_k?"),
        (3, "retrieval.rrf_k", "has to be at least 1"),
        (4, "filters", 'has to be an object {…}, not the text "none"'),
    ),
)

WITHOUT_EMBEDDINGS = (
    config(
        "hybrid without embeddings",
        '"retrieval": {"method": "hybrid"}',
        (
            2,
            "retrieval.method",
            "hybrid needs embeddings and collection kb has none; index it with an embedding model, or use keyword",
        ),
    ),
    config(
        "vector without embeddings",
        '"retrieval": {"method": "vector"}',
        (
            2,
            "retrieval.method",
            "vector needs embeddings and collection kb has none; index it with an embedding model, or use keyword",
        ),
    ),
)
