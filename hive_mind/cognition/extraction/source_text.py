"""Source code and settings as notes: what docstrings and comments say, with the lines that they stand above.

Python is read by its own parser: docstrings under the names they document, and constants with what is remarked on them; a file
that it does not take stays as it is. Of other languages, which would need tree-sitter with a grammar of a megabyte each, only
comments are known, by their marks; the code below stays as it is, under its name where it defines one. A section of a file of
settings is a heading for its keys.

A text of which no file's name tells the language is source where nearly every line is laid out as code or a comment.
"""

import ast
import re
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
# Lines that only programs have, and the marks of their comments.
_LAID_OUT = (
    (
        regex(
            r"\A(?:(?:export |public |private |protected |static |async |pub(?:\(\w+\))? |final |abstract |unsafe |default )*"
            r"(?:function|func|fn|class|interface|struct|enum|impl|trait|const|let|var|package|namespace|#include|#define)\b.*[\w({;,)=\]\"'>}]"
            r"|(?:import|use|using) .*;|.*\)\s?\{\}?)"
        ),
        ".go",
    ),
    (regex(r"(?:CREATE|SELECT|INSERT INTO|ALTER|DROP|UPDATE|DELETE FROM|GRANT)\s.*[\w(;,)*]", re.IGNORECASE), ".sql"),
    (regex(r"\A(?:(?:class|module) [A-Z]\w*(?: < .*)?|\s*def \w.*[^:]|require(?:_relative)? .*)"), ".rb"),
    (
        regex(
            r"\A(?:#!/.*|(?:FROM|RUN|CMD|ENV|EXPOSE|COPY|ENTRYPOINT|WORKDIR)\s\S.*|(?:export )?[A-Z_][A-Z\d_]*\s?[:?+]?=.*|"
            r"\.PHONY:.*|\w+\(\) ?\{)"
        ),
        ".sh",
    ),
)
_PYTHON = regex(r"\A\s*(?:async )?(?:def \w+\(.*|class \w+(?:\(.*\))?:.*)")
_CODED = regex(
    r"\s.*|(?:import|use|using|require|package|#\w+)\s.*|[)}\]].*|.*[;{},()=\\\[\]`]|[\w.$-]+\s?[:?+]?=.*|[\w.-]+:(?:\s.*)?|@\w.*|[A-Z]{2,}\s\S.*|"
    r"(?:else|fi|done|esac|end|begin)\b.*"
)
_SCRIPT = regex(r"#!/\S{1,40}(?:/|env )\w{0,20}sh\b")
_ASSIGNED = regex(r"\A(?:export )?[A-Z_][A-Z\d_]*\s?=.*")
# A text without comments says nothing that is better read as notes.
_SOURCE_SHARE = 0.9
_SECTION = regex(r"\[{1,2}(?P<name>[^\[\]]{1,80})\]{1,2}")
# "----" above and below a title.
_RULE = regex(r"[\W_]*+")
_HASHES = regex(r"(?m)^[ \t]*#{1,6}(?= )")


class _Kind(Enum):
    BLANK = "blank"
    COMMENT = "comment"
    SECTION = "section"
    CODE = "code"


def notes_of_source(text: str) -> str | None:
    """A text that is source of some language as what it says; None for any other text, and for source that says nothing."""
    lines = [line for line in text.splitlines() if line.strip()]
    if any(map(_PYTHON.fullmatch, lines)) and (said := _of_python(text, "")):
        return said
    if lines and _SCRIPT.match(lines[0]):
        return text_of_source(text, ".sh")
    for expression, suffix in _LAID_OUT:
        kinds = list(_kinds(lines, suffix))
        code = [line for line, kind in zip(lines, kinds, strict=True) if kind is _Kind.CODE]
        if _Kind.COMMENT not in kinds or not any(map(expression.fullmatch, code)):
            continue
        is_laid_out = [expression.fullmatch(line) is not None or _CODED.fullmatch(line) is not None for line in code]
        if sum(is_laid_out) >= _SOURCE_SHARE * len(code):
            return text_of_source(text, ".env" if all(map(_ASSIGNED.fullmatch, code)) else suffix)
    return None


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
            name = _defined(runs[number + 1][1]) if follows_code and not is_settings else ""
            # Of what is set in: it is part of something.
            written += [f"{'#' * (_MEMBER_LEVEL if run[0][:1].isspace() else _TYPE_LEVEL)} {name}", ""] * bool(name)
            is_lead = follows_code and not _is_table(runs[number + 1][1])
            written += [_comment(run, suffix, is_lead=is_lead), ""]
        elif kind is _Kind.SECTION:
            written += [f"## {match['name']}\n" for line in run if (match := _SECTION.fullmatch(line.strip()))]
        elif kind is _Kind.CODE and is_settings:
            written += [f"{line.strip()}\n" for line in run]
        elif kind is _Kind.CODE and _is_table(run):
            columns = (f"  - {line.strip()}" for line in run[1:] if any(map(str.isalnum, line)))
            written += [f"- {run[0].strip(' (')}", *columns, ""]
        elif kind is _Kind.CODE:
            written += ["```", *run, "```", ""]
    return "\n".join(written).strip("\n") + "\n"


def _kinds(lines: Sequence[str], suffix: str) -> Iterator[_Kind]:
    marks, is_within = _MARKS.get(suffix, _HASH), False
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


# These stand where a name does and define nothing.
_CONTROL = frozenset("if for while switch catch return else elif await new throw delete yield case match with and or not".split())
_TYPE = regex(
    r"(?:[\w()]+\s+){0,6}?(?:class|struct|interface|enum|trait|record|namespace|table|view|index|trigger)\s+"
    r"(?:if\s+not\s+exists\s+)?[\"`\[]?(?P<name>[\w$.]+)",
    re.IGNORECASE,
)
_TYPE_LEVEL, _MEMBER_LEVEL = 2, 3


def _is_table(run: Sequence[str]) -> bool:
    """Whether code lists the columns of a table, each of which is something by itself."""
    return _TYPE.match(run[0]) is not None and run[0].rstrip().endswith("(")


def _defined(code: Sequence[str]) -> str:
    """The function, with its arguments, or the type that lines of code begin to define; "" for other code."""
    line = next((line.strip() for line in code if not line.lstrip().startswith(("@", "#["))), "")
    if kind := _TYPE.match(line):
        return kind["name"]
    if line.startswith("func ("):
        # The receiver of a method stands in front of its name.
        line = f"func {line.partition(')')[2].lstrip()}"
    head, bracket, rest = line.partition("(")
    words = head.partition("<")[0].split()
    if "=" in words and "=>" in rest:
        words = words[: words.index("=")]
    *before, name = words or [""]
    if not bracket or not name.replace("$", "_").isidentifier() or not (before or rest.rstrip().endswith("{")):
        return ""
    is_plain = _CONTROL.isdisjoint((*before, name)) and not any("=" in word or word.endswith((",", ":", ".")) for word in before)
    return f"{name}({rest.partition(')')[0]})" if is_plain else ""


def _comment(run: Sequence[str], suffix: str, *, is_lead: bool) -> str:
    matches = ((line, _MARKS.get(suffix, _HASH).fullmatch(line.strip())) for line in run)
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
    return _of_python(source, title) or source


def _of_python(source: str, title: str) -> str:
    """The same, "" where it can't be parsed or says nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        said = list(_said(tree, title, 1, source.splitlines()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return "\n\n".join(said) + "\n" if said else ""


def _said(node: Documented, title: str, level: int, lines: Sequence[str]) -> Iterator[str]:
    # A remark in an example is no heading.
    own = [_HASHES.sub("", ast.get_docstring(node) or ""), *_constants(node, lines)]
    below = [part for child in _documented(node.body) for part in _said(child, _title(child), level + 1, lines)]
    said = [part for part in own if part]
    if said or below:
        yield from [f"{'#' * min(level, _LEVELS_MAX)} {title}"] * bool(title)
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
        above: list[str] = []
        while child.lineno - 2 - len(above) >= 0 and lines[child.lineno - 2 - len(above)].lstrip().startswith("# "):
            above.append(lines[child.lineno - 2 - len(above)].strip(" #"))
        written, remark = _written(value, lines), " ".join(reversed(above)) or _string_below(node.body[place + 1 : place + 2])
        if len(written) <= _VALUE_CHARS_MAX and (target.id.isupper() or remark or _is_plain(value)):
            yield f"{target.id} = {written}{_unit(target.id, value)}" + (f" ({remark})" if remark else "")


def _written(value: ast.expr, lines: Sequence[str]) -> str:
    """A value as it stands, where it does so in one line: 0.30 is no 0.3 to somebody who looks for it."""
    if value.lineno != value.end_lineno:
        return ast.unparse(value)
    return lines[value.lineno - 1].encode()[value.col_offset : value.end_col_offset].decode()


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


def _string_below(following: Sequence[ast.stmt]) -> str:
    below = following[0] if following else None
    is_string = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    return " ".join(str(ast.literal_eval(below.value)).split()) if is_string and isinstance(below, ast.Expr) else ""
