"""Files of a workspace that can't be used, of every kind, each with what has to be said of it: line, path and message.

In the tables a case is its name, the file's text, and a line for each error. ⏎ is a new line of the file. What begins with …
stands in the file from its second line on, after its name or as one of its questions.
"""

from dataclasses import dataclass

from hive_mind.retrieval import RetrievalConfig

AUTH = '{"query": "How do I authenticate?", "relevant": ["api/auth.md"], "distractors": ["faqs/passwords.md"]}'


@dataclass(frozen=True)
class Bad:
    """`says`: line, path and message of every error, in order."""

    name: str
    text: str | bytes
    says: tuple[tuple[int, str, str], ...] = ()


def cases(table: str, head: str, tail: str = "}\n") -> tuple[Bad, ...]:
    return tuple(case(one, head, tail) for one in table.removeprefix("# ").rstrip("\n").split("\n# "))


def case(told: str, head: str, tail: str) -> Bad:
    name, body, *says = told.split("\n")
    text = f"{head}{body[2:]}{tail}" if body.startswith("… ") else body
    return Bad(name, text.replace("⏎", "\n").replace("[×50", "[" * 50), tuple(map(said, says)))


def said(line: str) -> tuple[int, str, str]:
    number, _, rest = line.partition(" ")
    path, _, message = rest.partition(": ")
    return int(number), path, message.replace("FIELDS", ", ".join(RetrievalConfig.model_fields))


CONFIGS = (
    Bad("bytes that are no UTF-8", b'{"name": "caf\xe9"}', ((1, "configuration", "this is not UTF-8; save the file as UTF-8"),)),
    Bad("a megabyte", "// " + "x" * 1_000_000, ((0, "configuration", "the file is larger than 1,000,000 bytes"),)),
    *cases(
        r"""# an empty file

1 configuration: it is empty; begin with `hive-mind retrieval init`
# nothing but a comment
// later⏎
2 configuration: it is empty; begin with `hive-mind retrieval init`
# a list
["v1"]
1 configuration: has to be an object {…}
# two configurations
{"name": "v1"} {"name": "v2"}
1 configuration: something follows after the end of the configuration; look at the brackets
# a bracket that is never closed
{"name": "v1",⏎ "retrieval": {"top_k": 5}⏎
1 configuration: the bracket of line 1 is never closed; add }
# a comment that is never closed
{"name": "v1"} /* later
1 configuration: a comment that begins with /* is never closed; add */
# a comma too many
{"name": "v1",⏎}
2 configuration: a comma before }; remove it
# a comma too few
{"name": "v1"⏎ "collection": "kb"}
2 configuration: a comma or } is missing before this
# a key without quotes
{name: "v1"}
1 configuration: a key must be in double quotes: "name"
# text over two lines
{"name": "v1⏎"}
1 configuration: text ends at the end of its line: a quote is missing, or write \n for a new line
# no name
{"collection": "kb"}
1 name: is missing; add it
# fifty brackets
[×50
1 configuration: nested deeper than 30; a configuration needs three levels
# a name that leaves the folder
{"name": "../v1", "collection": "kb"}
1 name: has to be 1 to 64 letters, digits, '.', '_' and '-', with a letter or digit first
# a name that is another's
{"name": "v2", "collection": "kb"}
1 name: is v2 and the file is v1.json; make them equal, or results can't be distinguished
# a collection that is not there
{"name": "v1", "collection": "kbb"}
1 collection: there is no collection kbb; did you mean kb?
# true for a number
… "retrieval": {"top_k": true}
2 retrieval.top_k: has to be a whole number, not true
# a number as text
… "retrieval": {"top_k": "5"}
2 retrieval.top_k: has to be a whole number, not the text "5"
# a number for text
… "rerank": {"model": 7}
2 rerank.model: has to be text; put it in quotes: "7"
# nothing for a number
… "retrieval": {"top_k": null}
2 retrieval.top_k: has no value; give it one, or leave the line out
# no results
… "retrieval": {"top_k": 0}
2 retrieval.top_k: has to be at least 1
# NaN
… "retrieval": {"semantic_weight": NaN}
2 retrieval.semantic_weight: NaN is not a number in JSON; write one
# a number beyond all numbers
… "dynamic_k": {"gap_threshold_factor": 1e999}
2 dynamic_k.gap_threshold_factor: 1e999 is too large a number
# a whole number beyond all
… "retrieval": {"top_k": 99999999999999999999}
2 retrieval.top_k: 99999999999999999999 is too large a number
# an octal number
… "retrieval": {"top_k": 010}
2 retrieval.top_k: 010 is not a number in JSON, such as 0.5, 60 or 1e-3
# a weight above one
… "retrieval": {"semantic_weight": 1.5}
2 retrieval.semantic_weight: has to be at most 1
# Python's True
… "dynamic_k": {"enabled": True}
2 dynamic_k.enabled: True is not JSON; write true
# yes
… "dynamic_k": {"enabled": "yes"}
2 dynamic_k.enabled: has to be true or false, not the text "yes"
# a word without quotes
… "retrieval": {"method": hybrid}
2 retrieval.method: text must be in double quotes: "hybrid"
# a misspelled method
… "retrieval": {"method": "hybird"}
2 retrieval.method: has to be keyword, vector or hybrid, not the text "hybird"; did you mean hybrid?
# a number for a section
… "dynamic_k": 5
2 dynamic_k: has to be an object {…}, not 5
# a filter value that is no list
… "filters": {"category": "faqs"}
2 filters.category: has to be a list […], not the text "faqs"
# a filter value that is no text
… "filters": {"category": [1]}
2 filters.category[0]: has to be text; put it in quotes: "1"
# a filter by an empty text
… "filters": {"category": [""]}
2 filters.category[0]: is empty; give it a value
# filters as a list
… "filters": ["category"]
2 filters: has to be an object {…}, not a list
# a key of nobody
… "zzz": 1
2 zzz: is not known; allowed here: FIELDS
# a key of nobody in a section
… "dynamic_k": {"cliff": true}
2 dynamic_k.cliff: is not known; allowed here: enabled, gap_threshold_factor, min_results, max_results
# a misspelled key
… "retrieval": {"topk": 5}
2 retrieval.topk: is not known; did you mean top_k?
# a key in camelCase
… "dynamicK": {}
2 dynamicK: is not known; did you mean dynamic_k?
# a key one level too high
… "top_k": 5
2 top_k: is not known here; did you mean retrieval.top_k?
# a key twice
… "retrieval": {"top_k": 5,⏎"top_k": 6}
3 retrieval.top_k: occurs twice in its section, first in line 2; keep one of them
# an unknown field
… "filters": {"categry": ["faqs"]}
2 filters.categry: is not a field of collection kb; did you mean category?
# a field of nobody
… "filters": {"zzz": ["faqs"]}
2 filters.zzz: is not a field of collection kb; these can filter: category
# a field that can't filter
… "filters": {"title": ["First steps"]}
2 filters.title: can't filter; give it "filterable": true in collections/kb.json, or remove the filter
# a value that no document has
… "filters": {"category": ["faq"]}
2 filters.category[0]: no document has category "faq"; did you mean faqs? There are api (2), faqs (1), tutorials (1)
# a value like no other
… "filters": {"category": ["zzzzzz"]}
2 filters.category[0]: no document has category "zzzzzz"; there are api (2), faqs (1), tutorials (1)
# an empty filter
… "filters": {"category": []}
2 filters.category: is an empty list and would match nothing; name values, or remove it; there are api (2), faqs (1), tutorials (1)
# more than top_k
… "retrieval": {"top_k": 5}, "dynamic_k": {"enabled": true, "max_results": 8}
2 dynamic_k.max_results: is 8 and retrieval.top_k is 5; lower it to 5, or raise top_k
# more than top_k, switched off
… "retrieval": {"top_k": 5}, "dynamic_k": {"max_results": 8}
2 dynamic_k.max_results: is 8 and retrieval.top_k is 5; lower it to 5, or raise top_k
# a minimum above the maximum
… "dynamic_k": {"enabled": true, "min_results": 6, "max_results": 4}
2 dynamic_k.min_results: is 6 and max_results is 4; lower it to at most 4, or raise max_results
# a minimum above top_k
… "retrieval": {"top_k": 3}, "dynamic_k": {"enabled": true, "min_results": 4}
2 dynamic_k.min_results: is 4 and retrieval.top_k is 3; lower it to at most 3, or raise retrieval.top_k
# detection without meaning
… "retrieval": {"method": "keyword"}, "distraction_detection": {"enabled": true}
2 distraction_detection.enabled: compares words with meaning, and the method is keyword; use hybrid, signal coverage, or switch it off
# half of a character
… "filters": {"category": ["\ud800"]}
2 filters.category[0]: contains an unpaired surrogate; write the whole character
# an unknown escape
… "filters": {"category": ["a\q"]}
2 configuration: unknown escape sequence after \; write \\
# several at once
… "retrieval": {"topk": 5,⏎"rrf_k": 0},⏎"filters": "none"
2 retrieval.topk: is not known; did you mean top_k?
3 retrieval.rrf_k: has to be at least 1
4 filters: has to be an object {…}, not the text "none"
""",  # noqa: E501
        '{"name": "v1", "collection": "kb",\n',
    ),
)

WITHOUT_EMBEDDINGS = cases(
    r"""# hybrid without embeddings
… "retrieval": {"method": "hybrid"}
2 retrieval.method: hybrid needs embeddings and collection kb has none; index it with an embedding model, or use keyword
# vector without embeddings
… "retrieval": {"method": "vector"}
2 retrieval.method: vector needs embeddings and collection kb has none; index it with an embedding model, or use keyword
""",
    '{"name": "v1", "collection": "kb",\n',
)

COLLECTIONS = cases(
    r"""# no name
{"fields": {}}
1 name: is missing; add it
# a name that is another's
{"name": "knowledge-base"}
1 name: is knowledge-base and the file is kb.json; make them equal, or results can't be distinguished
# documents outside
… "documents_dir": "../secrets"
2 documents_dir: leads out of the workspace; put the documents, or a copy of them, inside
# documents that are not there
… "documents_dir": "docs"
2 documents_dir: there is no folder docs; make it, or correct the name
# a folder without documents
… "documents_dir": "configs"
2 documents_dir: no document lies in configs (.md, .txt, .rst); put some there
# a field of no type
… "fields": {"category": {"type": "string"}}
2 fields.category.type: has to be text, keyword, date or number, not the text "string"
# a field name with a blank
… "fields": {"my field": {"type": "text"}}
2 fields.my field: has to be 1 to 64 letters, digits, '_' and '-', with a letter first
# filterable twice
… "filterable_fields": ["category", "category"]
2 filterable_fields[1]: category is in the list twice; keep one of them
# filterable and not
… "fields": {"category": {"type": "keyword", "filterable": false}},⏎"filterable_fields": ["category"]
3 filterable_fields[0]: category can filter here and can't in fields.category; keep one of them
# a strategy of nobody
… "chunking": {"strategy": "sentences"}
2 chunking.strategy: has to be by_heading or fixed, not the text "sentences"
# headings of level 0
… "chunking": {"heading_level": 0}
2 chunking.heading_level: has to be at least 1
# a chunk that never gets on
… "chunking": {"max_tokens": 64, "overlap_tokens": 64}
2 chunking.overlap_tokens: is 64 and max_tokens is 64: chunks would never advance; lower it, a tenth is usual
# headings in plain text
… "chunking": {"strategy": "by_heading", "format": "plain"}
2 chunking.format: is plain, where no line is a heading; use markdown, or strategy fixed
# a folder that is a number
… "fields": {"category": {"type": "number"}}
2 fields.category: is a number and in api/auth.md it is "api"; correct one of them
2 fields.category: is a number and in api/limits.md it is "api"; correct one of them
2 fields.category: is a number and in faqs/passwords.md it is "faqs"; correct one of them
2 fields.category: is a number and in tutorials/first.md it is "tutorials"; correct one of them
""",
    '{"name": "kb",\n',
)

GOLDEN_SETS = cases(
    r"""# an empty file

1 golden set: it is empty; begin with `hive-mind retrieval init`
# a list of questions
[]
1 golden set: has to be an object {…}
# no questions
{"queries": []}
1 queries: is an empty list; name at least one
# an empty question
… {"query": "", "relevant": ["api/auth.md"]}
2 queries[0].query: is empty; give it a value
# a document that is not there
… {"query": "x", "relevant": ["api/auht.md"]}
2 queries[0].relevant[0]: there is no document api/auht.md; did you mean api/auth.md?
# a document like no other
… {"query": "x", "relevant": ["zzz"]}
2 queries[0].relevant[0]: there is no document zzz; correct its path below the collection's folder, or take it out
# a document outside
… {"query": "x", "relevant": ["../../etc/passwd"]}
2 queries[0].relevant[0]: leads out of the collection's folder; name documents by their path below it
# a document by its place on the disk
… {"query": "x", "relevant": ["/etc/passwd"]}
2 queries[0].relevant[0]: leads out of the collection's folder; name documents by their path below it
# a document that is relevant twice
… {"query": "x", "relevant": ["api/auth.md", "api/auth.md"]}
2 queries[0].relevant[1]: api/auth.md is in the list twice; keep one of them
# a document that is both
… {"query": "x", "relevant": ["api/auth.md"], "distractors": ["api/auth.md"]}
2 queries[0].distractors[0]: api/auth.md is relevant too, in queries[0].relevant; a document is one or the other
# a document that is both, by two paths
… {"query": "x", "relevant": ["api/auth.md"], "distractors": ["documents/api/auth.md"]}
2 queries[0].distractors[0]: api/auth.md is relevant too, in queries[0].relevant; a document is one or the other
# no labels
… {"query": "How do I authenticate?", "relevant": ["api/auth.md"], "distractors": ["faqs/passwords.md"]},⏎{"query": "x"}
3 queries[1]: names neither relevant documents nor distractors, so nothing can be measured; name some
# distractors only, everywhere
… {"query": "x", "distractors": ["api/auth.md"]}
1 queries: no question has a relevant document, so nothing can be found; name some
# duplicate ids
… {"id": "a", "query": "x", "relevant": ["api/auth.md"]},⏎{"id": "a", "query": "y", "relevant": ["api/auth.md"]}
3 queries[1].id: a is also the id of queries[0]; give it another, or remove it
# a question twice
… {"query": "How do I authenticate?", "relevant": ["api/auth.md"], "distractors": ["faqs/passwords.md"]},⏎{"query": "how  DO I authenticate?", "relevant": ["api/auth.md"], "distractors": ["faqs/passwords.md"]}
3 queries[1].query: is the same question as queries[0]; give it another, or remove it
# a key of nobody
… {"query": "x", "documents": ["api/auth.md"]}
2 queries[0].documents: is not known; allowed here: id, query, relevant, distractors, split
# a split for some
… {"query": "How do I authenticate?", "relevant": ["api/auth.md"], "distractors": ["faqs/passwords.md"], "split": "test"},⏎{"query": "x", "relevant": ["api/auth.md"]}
3 queries[1].split: has no split and others do; write train or test (1 without)
""",  # noqa: E501
    '{"queries": [\n',
    "\n]}\n",
)

WITHOUT_EFFECT = cases(
    r"""# a weight by words alone
… "retrieval": {"method": "keyword", "semantic_weight": 0.7}
1 retrieval.semantic_weight: has no effect: it is for hybrid and the method is keyword; remove it
# a weight by ranks
… "retrieval": {"fusion": "rrf", "semantic_weight": 0.7}
1 retrieval.semantic_weight: has no effect: it is for fusion linear and this one is rrf; remove it
# a constant of ranks by scores
… "retrieval": {"fusion": "linear", "rrf_k": 20}
1 retrieval.rrf_k: has no effect: it is for fusion rrf and this one is linear; remove it
# a constant of ranks by meaning alone
… "retrieval": {"method": "vector", "rrf_k": 20}
1 retrieval.rrf_k: has no effect: it is for hybrid and the method is vector; remove it
# weights that adapt where there are none
… "retrieval": {"method": "keyword", "adaptive": "weights"}
1 retrieval.adaptive: adapts weights, and method keyword has none; use anchors or none
# a cliff that is not looked for
… "dynamic_k": {"gap_threshold_factor": 5}
1 dynamic_k.gap_threshold_factor: has no effect while dynamic_k.enabled is false; switch it on, or remove it
# reranking without a model
… "rerank": {"top_n": 7}
1 rerank.top_n: has no effect without rerank.model; name one, or remove it
# fewer candidates than results
… "retrieval": {"top_k": 50, "depth": 20}
1 retrieval.depth: is 20 and top_k is 50: it is taken as 50; raise it
# a gap that is everywhere
… "dynamic_k": {"enabled": true, "gap_threshold_factor": 0.5}
1 dynamic_k.gap_threshold_factor: counts any gap above the mean as a cliff; 2 to 6 are usual
# nothing left to cut
… "dynamic_k": {"enabled": true, "min_results": 10}
1 dynamic_k.min_results: leaves nothing to cut: it is as large as the most there can be; lower it
# a threshold of nothing
… "distraction_detection": {"enabled": true, "disagreement_threshold": 0.0}
1 distraction_detection.disagreement_threshold: flags every result as a distraction; raise it
# a boost by a field that is not there
… "boosts": {"recency": 0.2}
1 boosts.recency: lifts nothing: collection kb declares no field date or said_at; declare it, or remove this
# a filter by all values
… "filters": {"category": ["api", "faqs", "tutorials"]}
1 filters.category: filters nothing: these are all values of category; remove it
# a filter by a value twice
… "filters": {"category": ["api", "api"]}
1 filters.category[1]: is in the list twice; keep one of them
""",
    '{"name": "v1", "collection": "kb", ',
)
