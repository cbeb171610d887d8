"""The output of `hive-mind learn`: facts of each file, omissions and their reasons; line by line where that is asked."""

from collections.abc import Mapping, Sequence
from typing import Any

from hive_mind.cli.output import show, show_indented, shown_source
from hive_mind.counted import counted

Reply = Mapping[str, Any]

# How many of a reason are written, where an s more does not do.
_REASONS = {
    "page without text": ("page without text", "pages without text"),
    "header or footer": ("header or footer", "headers and footers"),
    "set of comments": ("set of comments", "sets of comments"),
    "a question": ("question", "questions"),
    "a greeting or thanks": ("greeting or thanks", "greetings or thanks"),
    "too few words": ("remark of too few words", "remarks of too few words"),
    "the address of a link": ("address of a link", "addresses of links"),
    "said before": ("repetition", "repetitions"),
    "a log line like others": ("log line like others", "log lines like others"),
}

# Counted apart.
_UNSURE = "too unsure"

# As much as anybody reads. A book has thousands.
_LINES_MAX = 100


def show_learned(files: Sequence[Reply]) -> None:
    for file in files:
        show(f"{shown_source(str(file['file']))}: {_figures(file)}")
        _show_lines(file.get("lines", ()))
    if len(files) > 1:
        new, confirmed = (sum(file[name] for file in files) for name in ("added", "confirmed"))
        show(f"{counted(len(files), 'file')}: {counted(new, 'new fact')}, {confirmed} confirmed by another source")


def _show_lines(lines: Sequence[Mapping[str, str]]) -> None:
    """The first that were kept and the first that were not, and how many more there are."""
    for is_kept in (True, False):
        those = [line for line in lines if (line["what"] == "kept") is is_kept]
        for line in those[:_LINES_MAX]:
            show_indented(f"{line['what']}: {line['text']}", style="" if is_kept else "dim")
        if rest := len(those) - min(len(those), _LINES_MAX):
            verb = "kept" if is_kept else "left out"
            show_indented(f"… and {rest:,} more {verb}: all of them with --output json", style="dim")


def _figures(file: Reply) -> str:
    parts = [f"{counted(file['facts'], 'fact')}, {file['added']:,} of them new"]
    parts += [f"{file['confirmed']} confirmed by another source"] if file["confirmed"] else []
    parts += [f"{file['former']} no longer said and now former"] if file["former"] else []
    parts += [f"{file['unsure']} too unsure to keep"] if file["unsure"] else []
    left = left_out_text(file["left_out"])
    return ", ".join(parts) + (f"; left out: {left}" if left else "")


def left_out_text(reasons: Mapping[str, int]) -> str:
    """The reasons for omissions and how often each occurred, "" for nothing; except those that were too unsure."""
    return ", ".join(counted(times, *_REASONS.get(reason, (reason,))) for reason, times in reasons.items() if reason != _UNSURE)
