"""Source code and settings as notes: what docstrings and comments say, with the lines that they stand above.

Python is read by its own parser: docstrings under the names they document, and constants with what is remarked on them; a file
that it does not take stays as it is. Of other languages, which would need tree-sitter with a grammar of a megabyte each, only
comments are known, by their marks; the code below stays as it is. A section of a file of settings is a heading for its keys.
"""

import ast
import warnings
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import groupby

from hive_mind.regex import regex

_HASH, _SLASHES, _DASHES = (
    regex(r"(?:#{1,8}|;{1,8}|//)!?\s?(?P<said>.*)"),
    regex(r"(?://[/!]{0,8}|/\*{1,8}|\*/|\*(?!\S))\s?(?P<said>.*)"),
    regex(r"--\s?(?P<said>.*)"),
)
_SETTINGS = ".toml .ini .cfg .conf .env .properties".split()
_MARKS = {
    **dict.fromkeys((*".sh .bash .zsh .rb .pl .r .jl .mk .tf .ps1".split(), *_SETTINGS), _HASH),
    **dict.fromkeys(
        ".js .mjs .ts .jsx .tsx .go .rs .java .kt .c .h .cc .cpp .hpp .cs .swift .scala .php .dart .css".split(), _SLASHES
    ),
    **dict.fromkeys(".sql .lua .hs".split(), _DASHES),
}
_SECTION = regex(r"\[{1,2}(?P<name>[^\[\]]{1,80})\]{1,2}")
# "----" above and below a title.
_RULE = regex(r"[\W_]*+")
_HASHES = regex(r"(?m)^[ \t]*#{1,6}(?= )")


class _Kind(Enum):
    BLANK = "blank"
    COMMENT = "comment"
    SECTION = "section"
    CODE = "code"


def is_source(suffix: str) -> bool:
    return suffix in _MARKS


def text_of_source(source: str, suffix: str) -> str:
    """Comments as paragraphs; those right above code end with a colon, which brings the code."""
    is_settings = suffix in _SETTINGS
    lines = source.splitlines()
    runs = [
        (kind, [line for line, _ in run])
        for kind, run in groupby(zip(lines, _kinds(lines, suffix), strict=True), key=lambda pair: pair[1])
    ]
    written: list[str] = []
    for number, (kind, run) in enumerate(runs):
        follows_code = number + 1 < len(runs) and runs[number + 1][0] is _Kind.CODE
        if kind is _Kind.COMMENT:
            written += [_comment(run, suffix, is_lead=follows_code), ""]
        elif kind is _Kind.SECTION:
            written += [f"## {match['name']}\n" for line in run if (match := _SECTION.fullmatch(line.strip()))]
        elif kind is _Kind.CODE and is_settings:
            written += [f"{line.strip()}\n" for line in run]
        elif kind is _Kind.CODE:
            written += ["```", *run, "```", ""]
    return "\n".join(written).strip("\n") + "\n"


def _kinds(lines: Sequence[str], suffix: str) -> Iterator[_Kind]:
    marks, is_within = _MARKS[suffix], False
    for number, line in enumerate(lines):
        begins = marks is _SLASHES and line.lstrip().startswith("/*")
        if not line.strip() and not is_within:
            yield _Kind.BLANK
        elif begins or is_within:
            is_within = "*/" not in line
            yield _Kind.COMMENT
        elif number == 0 and line.startswith("#!"):
            yield _Kind.BLANK
        elif marks.fullmatch(line.strip()) and not (marks is _SLASHES and line.lstrip().startswith("*")):
            yield _Kind.COMMENT
        else:
            yield _Kind.SECTION if suffix in _SETTINGS and _SECTION.fullmatch(line.strip()) else _Kind.CODE


def _comment(run: Sequence[str], suffix: str, *, is_lead: bool) -> str:
    matches = ((line, _MARKS[suffix].fullmatch(line.strip())) for line in run)
    said = [(match["said"] if match else line).strip().removesuffix("*/").strip() for line, match in matches]
    text = " ".join(line for line in said if not _RULE.fullmatch(line))
    return f"{text.rstrip('.:')}:" if is_lead and text else text


_LEVELS_MAX = 6
_VALUE_CHARS_MAX = 200
_UNITS = {"s": "seconds", "sec": "seconds", "secs": "seconds", "ms": "milliseconds", "min": "minutes", "h": "hours"} | {
    unit: unit.upper() if unit in ("kb", "mb", "gb", "tb") else unit
    for unit in "seconds minutes hours days weeks bytes kb mb gb tb percent metres meters km kg kw volts".split()
}

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def text_of_python(source: str, title: str) -> str:
    """Headings, docstrings and constants in their order; the source itself where it can't be parsed or says nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        said = list(_said(tree, title, 1, source.splitlines()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    return "\n\n".join(said) + "\n" if said else source


def _said(node: Documented, title: str, level: int, lines: Sequence[str]) -> Iterator[str]:
    # A remark in an example is no heading.
    own = [_HASHES.sub("", ast.get_docstring(node) or ""), *_constants(node, lines)]
    below = [part for child in _documented(node.body) for part in _said(child, _title(child), level + 1, lines)]
    said = [part for part in own if part]
    if said or below:
        yield f"{'#' * min(level, _LEVELS_MAX)} {title}"
        yield from said
        yield from below


def _documented(body: Sequence[ast.stmt]) -> Iterator[Documented]:
    """Classes and functions, also those that are defined in one case or another."""
    for child in body:
        if isinstance(child, Documented):
            yield child
        elif isinstance(child, ast.If | ast.Try):
            yield from _documented([*child.body, *child.orelse])


def _title(node: Documented) -> str:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return f"{node.name}({ast.unparse(node.args)})"[:100]
    return getattr(node, "name", "")


def _constants(node: Documented, lines: Sequence[str]) -> Iterator[str]:
    """Names with plain values, and others in capitals or with a remark above or a string below; of a function, its defaults."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _defaults(node.args)
        return
    for place, child in enumerate(node.body):
        target = child.targets[0] if isinstance(child, ast.Assign) else child.target if isinstance(child, ast.AnnAssign) else None
        value = getattr(child, "value", None)
        if not isinstance(target, ast.Name) or value is None:
            continue
        written, remark = ast.unparse(value), _remark(lines, child.lineno) or _string_below(node.body[place + 1 : place + 2])
        if len(written) <= _VALUE_CHARS_MAX and (target.id.isupper() or remark or _is_plain(value)):
            yield f"{target.id} = {written}{_unit(target.id, value)}" + (f" ({remark})" if remark else "")


def _defaults(arguments: ast.arguments) -> Iterator[str]:
    """The plain values that a function takes where none are given."""
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    for argument, value in pairs:
        if isinstance(value, ast.Constant) and value.value not in (None, True, False, ""):
            yield f"{argument.arg} = {ast.unparse(value)}{_unit(argument.arg, value)} (default)"


def _is_plain(value: ast.expr) -> bool:
    """Whether a value says what it is, as numbers, texts and lists of them do."""
    plain = ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Set | ast.expr_context
    return all(isinstance(part, plain) for part in ast.walk(value))


def _unit(name: str, value: ast.expr) -> str:
    """The unit that the last word of a name gives its number: 15 of `RETRY_SECONDS` are seconds."""
    is_number = isinstance(value, ast.Constant) and isinstance(value.value, int | float) and not isinstance(value.value, bool)
    last = name.rpartition("_")[2].lower()
    return f" {_UNITS[last]}" if is_number and last in _UNITS and "_" in name else ""


def _remark(lines: Sequence[str], line: int) -> str:
    """The comment right above a line."""
    above: list[str] = []
    while line - 2 - len(above) >= 0 and lines[line - 2 - len(above)].lstrip().startswith("# "):
        above.append(lines[line - 2 - len(above)].strip(" #"))
    return " ".join(reversed(above))


def _string_below(following: Sequence[ast.stmt]) -> str:
    below = following[0] if following else None
    is_string = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    return " ".join(str(ast.literal_eval(below.value)).split()) if is_string and isinstance(below, ast.Expr) else ""
