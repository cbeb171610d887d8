"""Small workspaces for tests: one of ours, and one in the public layout that document 000 describes."""

import json
from pathlib import Path

from hive_mind.retrieval.workspace import Workspace

COLLECTION = '{"name": "kb", "fields": {"category": {"type": "keyword", "filterable": true}, "title": {"type": "text"}}}'
CONFIG = '{"name": "v1", "collection": "kb"}'
DOCUMENTS = {
    "api/auth.md": "# API authentication\n\nSend a bearer token.\n\n## Expiry\n\nA token lasts an hour.\n",
    "api/limits.md": "# Rate limits\n\nAt most 60 requests a minute.\n",
    "faqs/passwords.md": "# Authentication FAQ\n\nHow to reset a password.\n",
    "tutorials/first.md": "# First steps\n\nAsk for a token and send a request.\n",
}
GOLDEN = json.dumps(
    {"queries": [{"query": "How do I authenticate?", "relevant": ["api/auth.md"], "distractors": ["faqs/passwords.md"]}]}
)
AUTH_ONLY = '{"queries": [{"query": "How do I authenticate?", "relevant": ["api/auth.md"]}]}'


def workspace(folder: Path, **files: str | bytes) -> Workspace:
    """A workspace in which these files differ: config, collection, golden, active."""
    texts: dict[str, str | bytes] = {
        "collections/kb.json": files.get("collection", COLLECTION),
        "configs/v1.json": files.get("config", CONFIG),
        "evals/golden.json": files.get("golden", GOLDEN),
        **{f"documents/{name}": text for name, text in DOCUMENTS.items()},
    }
    if "active" in files:
        texts["configs/active.json"] = files["active"]
    return written(folder, texts)


def public(folder: Path) -> Workspace:
    """The layout of the public project: category by folder, comments in JSON, a copy of the active configuration."""
    config = """{
  "name": "v1-naive",
  "collection": "knowledge-base",
  "retrieval": {
    "method": "hybrid",   // keyword | vector | hybrid
    "top_k": 10,
    "rrf_k": 60           // RRF constant
  },
  "dynamic_k": {"enabled": false, "gap_threshold_factor": 3.0, "min_results": 1, "max_results": 10},
  "filters": {},          // category pre-filtering
  "distraction_detection": {"enabled": false, "disagreement_threshold": 0.5}
}
"""
    golden = {"queries": [{"query": "How do I authenticate?", "relevant": ["api/auth.md"], "distractors": ["faqs/passwords.md"]}]}
    collection = {
        "name": "knowledge-base",
        "documents_dir": "documents",
        "filterable_fields": ["category"],
        "chunking": {"strategy": "by_heading", "heading_level": 2, "max_tokens": 512},
    }
    return written(
        folder,
        {
            "collections/knowledge-base.json": json.dumps(collection),
            "configs/v1-naive.json": config,
            "configs/active.json": config,
            "evals/golden.json": json.dumps(golden),
            **{f"documents/{name}": text for name, text in DOCUMENTS.items()},
        },
    )


def written(folder: Path, texts: dict[str, str | bytes]) -> Workspace:
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Workspace.open(folder)


def everything_in(folder: Path) -> dict[str, bytes]:
    """Every file with its content, to see that nothing was changed."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
