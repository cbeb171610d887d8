"""Collections that can't be used, each with what has to be said of it."""

from tests.unit.retrieval.bad import Bad, text


def collection(name: str, body: str, *says: tuple[int, str, str]) -> Bad:
    return Bad(name, '{"name": "kb",\n' + body + "}\n", says)


COLLECTIONS = (
    text("no name", '{"fields": {}}', (1, "name", "is missing; add it")),
    text(
        "a name that is another's",
        '{"name": "knowledge-base"}',
        (1, "name", "is knowledge-base and the file is kb.json; make them equal, or results can't be distinguished"),
    ),
    collection(
        "documents outside",
        '"documents_dir": "../secrets"',
        (2, "documents_dir", "leads out of the workspace; put the documents, or a copy of them, inside"),
    ),
    collection(
        "documents at the root of the disk",
        '"documents_dir": "/etc"',
        (2, "documents_dir", "leads out of the workspace; put the documents, or a copy of them, inside"),
    ),
    collection(
        "documents outside, in disguise",
        '"documents_dir": "documents/../../x"',
        (2, "documents_dir", "leads out of the workspace; put the documents, or a copy of them, inside"),
    ),
    collection(
        "documents that are not there",
        '"documents_dir": "docs"',
        (2, "documents_dir", "there is no folder docs; make it, or correct the name"),
    ),
    collection(
        "a folder without documents",
        '"documents_dir": "configs"',
        (2, "documents_dir", "no document lies in configs (.md, .txt, .rst); put some there"),
    ),
    collection(
        "a field of no type",
        '"fields": {"category": {"type": "string"}}',
        (2, "fields.category.type", 'has to be text, keyword, date or number, not the text "string"'),
    ),
    collection(
        "a field that is a word",
        '"fields": {"category": "keyword"}',
        (2, "fields.category", 'has to be an object {…}, not the text "keyword"'),
    ),
    collection(
        "a misspelled key of a field",
        '"fields": {"category": {"type": "keyword", "filterble": true}}',
        (2, "fields.category.filterble", "is not known; did you mean filterable?"),
    ),
    collection(
        "a field name with a blank",
        '"fields": {"my field": {"type": "text"}}',
        (2, "fields.my field", "has to be 1 to 64 letters, digits, '_' and '-', with a letter first"),
    ),
    collection(
        "filterable as text",
        '"filterable_fields": "category"',
        (2, "filterable_fields", 'has to be a list […], not the text "category"'),
    ),
    collection(
        "filterable twice",
        '"filterable_fields": ["category", "category"]',
        (2, "filterable_fields[1]", "category is in the list twice; keep one of them"),
    ),
    collection(
        "filterable and not",
        '"fields": {"category": {"type": "keyword", "filterable": false}},\n"filterable_fields": ["category"]',
        (3, "filterable_fields[0]", "category can filter here and can't in fields.category; keep one of them"),
    ),
    collection(
        "a strategy of nobody",
        '"chunking": {"strategy": "sentences"}',
        (2, "chunking.strategy", 'has to be by_heading or fixed, not the text "sentences"'),
    ),
    collection("headings of level 0", '"chunking": {"heading_level": 0}', (2, "chunking.heading_level", "has to be at least 1")),
    collection("chunks of one token", '"chunking": {"max_tokens": 1}', (2, "chunking.max_tokens", "has to be at least 16")),
    collection(
        "a chunk that never gets on",
        '"chunking": {"max_tokens": 64, "overlap_tokens": 64}',
        (2, "chunking.overlap_tokens", "is 64 and max_tokens is 64: chunks would never advance; lower it, a tenth is usual"),
    ),
    collection(
        "headings in plain text",
        '"chunking": {"strategy": "by_heading", "format": "plain"}',
        (2, "chunking.format", "is plain, where no line is a heading; use markdown, or strategy fixed"),
    ),
    collection(
        "a folder that is a number",
        '"fields": {"category": {"type": "number"}}',
        (2, "fields.category", 'is a number and in api/auth.md it is "api"; correct one of them'),
        (2, "fields.category", 'is a number and in api/limits.md it is "api"; correct one of them'),
        (2, "fields.category", 'is a number and in faqs/passwords.md it is "faqs"; correct one of them'),
        (2, "fields.category", 'is a number and in tutorials/first.md it is "tutorials"; correct one of them'),
    ),
    collection(
        "a folder that is a date",
        '"fields": {"category": {"type": "date"}}',
        (2, "fields.category", 'is a date and in api/auth.md it is "api"; correct one of them'),
        (2, "fields.category", 'is a date and in api/limits.md it is "api"; correct one of them'),
        (2, "fields.category", 'is a date and in faqs/passwords.md it is "faqs"; correct one of them'),
        (2, "fields.category", 'is a date and in tutorials/first.md it is "tutorials"; correct one of them'),
    ),
)
