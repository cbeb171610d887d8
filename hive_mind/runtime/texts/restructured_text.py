"""reStructuredText, through docutils: as a page, with titles, lists, tables and code.

Sphinx has directives and roles that docutils lacks, and every project some of its own: of an unknown one its words are kept, as
those of a term where it describes something, and so are the words of a part that docutils finds wrong.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from hive_mind.regex import regex
from hive_mind.runtime.texts import Document, Refused, Unreadable, decoded, table
from hive_mind.runtime.texts.html_text import text_of_html

if TYPE_CHECKING:
    from docutils.nodes import Node, document

_DIRECTIVE = regex(r"^[ \t]*\.\.[ \t]+(?:\|[^|\n]{1,200}\|[ \t]+)?([\w:+.-]{1,80})::", re.MULTILINE)
_ROLE = regex(r":((?:[a-zA-Z][\w+.-]{0,40}:){0,2}[a-zA-Z][\w+.-]{0,40}):`|`:([\w:+.-]{1,80}):")
# Shown elsewhere, or to programs only.
_UNSHOWN = frozenset(
    "contents sectnum header footer meta class role default-role title include raw toctree highlight index literalinclude"
    " currentmodule module tabularcolumns automodule autoclass autofunction automethod autosummary".split()
)
_INCLUDED = ("include", "literalinclude")
# Their argument says where they are shown, not about what they are.
_CONDITIONS = frozenset(("only", "ifconfig"))
_CODE = frozenset(
    ("code", "code-block", "sourcecode", "parsed-literal", "prompt", "ipython", "testcode", "testoutput", "doctest")
)
_OF_VERSIONS = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
}
# Above this docutils reports no fault: it is asked to go on whatever it finds.
_ERROR, _NEVER = 3, 6
_SETTINGS = {
    "_disable_config": True,
    "embed_stylesheet": False,
    "file_insertion_enabled": False,
    "halt_level": _NEVER,
    "line_length_limit": 20 << 20,
    "raw_enabled": False,
    "report_level": _ERROR,
    "syntax_highlight": "none",
    "warning_stream": "",
}


def read_restructured_text(body: bytes) -> Document:
    """A text that docutils can't take, as one whose parts lie in one another too deeply, stays as it is written."""
    from docutils.core import publish_doctree, publish_from_doctree

    text = decoded(body)
    if isinstance(text, Unreadable):
        raise Refused(text.reason)
    _register(text)
    try:
        tree = publish_doctree(text, settings_overrides=_SETTINGS)
        included = sum(name in _INCLUDED for name in _DIRECTIVE.findall(text))
        left_out = _shown_only(tree) | {"included file": included}
        page = publish_from_doctree(tree, writer="html5", settings_overrides=_SETTINGS | {"output_encoding": "unicode"})
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - any fault of a library in a text that can be read without it
        return Document(text)
    return Document(text_of_html(str(page)), table.found(left_out))


def _register(text: str) -> None:
    """Has docutils know each directive and role of the text, in this process."""
    from docutils.parsers.rst import Directive, directives, roles
    from docutils.parsers.rst.languages import en

    class AnyOption(dict[str, Callable[[str], Any]]):
        def __missing__(self, name: str) -> Callable[[str], Any]:
            return directives.unchanged

    class Kept(Directive):
        optional_arguments, final_argument_whitespace, has_content = 1, True, True
        # Options are looked for where at least one has a name.
        option_spec: ClassVar = AnyOption(name=directives.unchanged)

        def run(self) -> "list[Node]":
            return _kept(self)

    for name in set(_DIRECTIVE.findall(text)):
        if name.lower() not in en.directives or name in _UNSHOWN | _CODE:
            directives.register_directive(name.lower(), Kept)
    for name in {first or second for first, second in _ROLE.findall(text)}:
        if name.lower() not in en.roles:
            roles.register_local_role(name, _role)


def _kept(directive: Any) -> "list[Node]":
    """A version as a sentence, code as it is laid out, a described thing as a term and its meaning."""
    from docutils import nodes

    name, said = directive.name.rpartition(":")[2].lower(), " ".join(" ".join(directive.arguments).split())
    if name in _UNSHOWN:
        return []
    if name in _CODE:
        code = "\n".join(directive.content)
        return [nodes.literal_block(code, code)] if code.strip() else []
    body = nodes.container()
    directive.state.nested_parse(directive.content, directive.content_offset, body)
    if name in _OF_VERSIONS:
        version, _, change = said.partition(" ")
        words, _ = directive.state.inline_text(change or ".", directive.lineno)
        begin = nodes.Text(f"{_OF_VERSIONS[name]} {version}{': ' if change else ''}")
        return [nodes.paragraph("", "", begin, *words), *body.children]
    if not said or name in _CONDITIONS:
        return list(body.children)
    if not body.children:
        words, _ = directive.state.inline_text(said, directive.lineno)
        return [nodes.paragraph("", "", *words)]
    term, meaning = nodes.term("", said), nodes.definition("", *body.children)
    return [nodes.definition_list("", nodes.definition_list_item("", term, meaning))]


def _role(_name: str, rawtext: str, text: str, *_: object) -> "tuple[Sequence[Any], Sequence[Any]]":
    from docutils import nodes, utils

    shown = utils.unescape(text).strip()
    title, target = shown.rpartition("<")[::2]
    if title.strip() and target.endswith(">"):
        shown = title.strip()
    elif shown.startswith("~"):
        # Of "~package.Name" the name.
        shown = shown.rpartition(".")[2].lstrip("~")
    return [nodes.inline(rawtext, shown.lstrip("!"))], []


def _shown_only(tree: "document") -> dict[str, int]:
    """Takes out pictures and what docutils says of faults, not the words that it says it of; and counts."""
    from docutils import nodes

    pictures = list(tree.findall(nodes.image))
    for picture in pictures:
        picture.parent.remove(picture)
    for message in list(tree.findall(nodes.system_message)):
        message.parent.replace(message, [block for block in message.children if isinstance(block, nodes.literal_block)])
    for box in [element for element in tree.findall(nodes.Element) if isinstance(element, nodes.Admonition)]:
        # Its title is no heading of what follows the box.
        match box.children:
            case [nodes.title() as title, nodes.paragraph() as first, *_]:
                first.insert(0, nodes.Text(f"{title.astext().rstrip(':')}: "))
                box.remove(title)
        box.parent.replace(box, box.children)
    for classifier in tree.findall(nodes.classifier):
        classifier.insert(0, nodes.Text(": "))
    return {"picture": len(pictures)}
