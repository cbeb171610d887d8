"""Mistakes in a text of a manifest wherever it stands: malformed references, and secrets in plain text.

A secret is given by reference, so that the manifest can be kept, shown and compared. No message repeats what may be one.
"""

from collections.abc import Iterator

from hive_mind.control.manifests.checking import leads_out
from hive_mind.errors import InvalidInput
from hive_mind.forms.tree import Finding, Path, Tree
from hive_mind.memory.gate.sensitive import credential_in
from hive_mind.regex import regex
from hive_mind.runtime.secrets.references import Reference, references_in

# Sections whose texts are resolved where they are used. Elsewhere a reference would stay as it is.
_RESOLVED = frozenset("bus embedding llm mcp notify observability".split())
_RESOLVED_OF_AGENT = frozenset("prompt model env".split())
_SECRET = frozenset((("bus", "credential"), ("bus", "searchesCredential"), ("embedding", "key"), ("llm", "key")))
# In a connection string of Azure: which key it is, not the key.
_NAME_OF_A_KEY = "SharedAccessKeyName="
_REFERENCE = regex(r"(?<!\$)\$\{[^{}]*\}")


def texts(tree: Tree, path: Path = ()) -> Iterator[tuple[Path, str]]:
    if isinstance(tree.value, str):
        yield path, tree.value
    for step, part in tree.parts.items():
        yield from texts(part, (*path, step))


def text_findings(tree: Tree) -> Iterator[Finding]:
    for path, text in texts(tree):
        yield from _references(path, text)
        if not _holds_secret(path, text):
            continue
        if _is_key(path):
            yield Finding(
                path, "has to be a reference, so that no secret is kept here: ${env:NAME}, ${credential:NAME} or ${file:PATH}"
            )
        else:
            kept = "keep it with hive-mind credentials set NAME, and write ${credential:NAME}, or ${env:NAME} or ${file:PATH}"
            yield Finding(path, f"holds a credential; {kept}")


def references(text: str) -> tuple[Reference, ...]:
    """References in a text; empty where one is malformed, which is reported elsewhere."""
    try:
        return references_in(text)
    except InvalidInput:
        return ()


def _references(path: Path, text: str) -> Iterator[Finding]:
    if "${" not in text:
        return
    if not _is_resolved(path):
        yield Finding(path, "a reference has no effect here; write the value itself")
        return
    try:
        found_references = references_in(text)
    except InvalidInput as error:
        yield Finding(path, str(error))
        return
    for reference in found_references:
        if reference.kind == "file" and leads_out(reference.name):
            yield Finding(path, f"{reference} leads out of the manifest's folder; if that is meant, write the whole path from /")


def _is_resolved(path: Path) -> bool:
    match path:
        case ("spec", "agents", int(), "triggers", int(), "token"):
            return True
        case ("spec", "agents", int(), field, *_):
            return field in _RESOLVED_OF_AGENT
        case ("spec", section, *_):
            return section in _RESOLVED
        case _:
            return False


def _is_key(path: Path) -> bool:
    return path[:1] == ("spec",) and (path[1:] in _SECRET or path[-3::2] == ("triggers", "token"))


def _holds_secret(path: Path, text: str) -> bool:
    around = _REFERENCE.sub("", text)
    if _is_key(path):
        parts = (part for part in around.split(";") if not part.startswith(_NAME_OF_A_KEY))
        return bool(text) and (around == text or any(map(credential_in, parts)))
    is_named = path[-2:-1] in (("env",), ("labels",))
    return bool(credential_in(f"{path[-1]}={around}" if is_named else around))
