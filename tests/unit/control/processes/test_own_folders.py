"""Folders of a fleet are this user's own, or refused with what to do; what is in them is never given up for that."""

import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from hive_mind.control import processes
from hive_mind.errors import BackendRejected


def _linked(path: Path) -> None:
    path.symlink_to(path.parent)


@pytest.mark.parametrize(
    ("make", "owner", "remedy"),
    [
        (Path.touch, None, "is a link or a file, and no folder: move it away"),
        (_linked, None, "is a link or a file, and no folder: move it away"),
        (Path.mkdir, 4711, "belongs to user 4711: run this as that user, give it to this one (chown -R)"),
    ],
    ids=["a file", "a link", "another user's"],
)
def test_what_is_no_folder_of_this_user_is_refused_and_stays(make, owner, remedy, tmp_path, monkeypatch):
    path = tmp_path / "fleet"
    make(path)
    if owner is not None:
        mode = path.lstat().st_mode
        monkeypatch.setattr(Path, "lstat", lambda _: SimpleNamespace(st_mode=mode, st_uid=owner))
    with pytest.raises(BackendRejected, match=re.escape(remedy)):
        processes.checked_folder(path)
    assert os.path.lexists(path)
