"""An archive as a file: a zip of a few kinds of members, each with its digest. Nothing of one from elsewhere is believed.

    manifest.yaml              as it was applied last
    agents/<name>.jsonl        an agent's memory, as `hive-mind facts export` writes it
    agents/<name>.sources      digests of the files it has learned, by path
    hive.jsonl                 what the hive holds, as `runtime/members/generations.py` writes it
    archive.json               what this is, and the digests

Names never become paths before they were checked, and nothing is read further than it may be long.
"""

import zipfile
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from hive_mind.control.state import checked_name
from hive_mind.errors import InvalidInput, reason_of
from hive_mind.identity import PrivateKey, is_signed, key_id
from hive_mind.model.decoding import json_decoder
from hive_mind.regex import regex
from hive_mind.safe_files import replacing

VERSION = 1
MANIFEST, HIVE, ABOUT = "manifest.yaml", "hive.jsonl", "archive.json"

_MEMBER = regex(r"manifest\.yaml|hive\.jsonl|archive\.json|agents/([^/]+)\.(jsonl|sources)")
_FORMAT = "hive-mind-archive"
_MEMBERS_MAX = 20_010
_ABOUT_BYTES_MAX = 8 << 20
_MEMBER_BYTES_MAX = 2 << 30
_BYTES_MAX = 16 << 30
# Text shrinks to a fifth, the emptiest of ours to a fiftieth; a bomb to a thousandth.
_RATIO_MAX, _RATIO_FROM_BYTES = 200, 16 << 20
_CHUNK_BYTES = 1 << 20
_REASON_CHARACTERS_MAX = 200


class About(msgspec.Struct, frozen=True):
    """An archive's description of itself. `digests` are SHA-256 by member."""

    format: str
    version: int
    fleet: str = ""
    made_ms: int = 0
    made_by: str = ""
    digests: dict[str, str] = {}
    root: str = ""
    """The public key of the fleet's root, in base64, where the fleet has identity and its root's key was there."""
    signature: str = ""
    """Of all the rest, by it."""

    @property
    def root_id(self) -> str:
        """The name of that key, "" where nobody signed."""
        return key_id(b64decode(self.root)).hex() if self.root else ""


@dataclass(frozen=True, slots=True)
class Archived:
    """The contents of an archive that was written or restored. `lines` count what agents remember: episodes, facts and links."""

    fleet: str
    agents: tuple[str, ...]
    lines: int
    assertions: int
    registry: int
    root: str = ""
    """The root that signed it, "" where nobody did."""


class Writer:
    """Of one archive, which is there when `finish` returns and not before. See `writing`."""

    def __init__(self, path: Path, zip_file: zipfile.ZipFile) -> None:
        self.path, self._zip = path, zip_file
        self._digests: dict[str, str] = {}

    def add(self, name: str, lines: Iterable[bytes]) -> int:
        digest, count = sha256(), 0
        with self._zip.open(name, "w", force_zip64=True) as member:
            for line in lines:
                digest.update(line + b"\n")
                member.write(line + b"\n")
                count += 1
        self._digests[name] = digest.hexdigest()
        return count

    def finish(self, fleet: str, made_ms: int, made_by: str, root: PrivateKey | None = None) -> None:
        """Nothing comes after this. With a `root` it is signed: all members by their digests."""
        about = About(_FORMAT, VERSION, fleet, made_ms, made_by, self._digests)
        if root is not None:
            about = msgspec.structs.replace(about, root=b64encode(root.public).decode())
            about = msgspec.structs.replace(about, signature=b64encode(root.sign(_signed(about))).decode())
        self._zip.writestr(ABOUT, msgspec.json.encode(about))


@contextmanager
def writing(path: Path) -> Iterator[Writer]:
    """An archive for its owner alone, under its name once the block ends; whatever was there stays until then."""
    try:
        with replacing(path) as unfinished, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as zip_file:
            yield Writer(path, zip_file)
    except OSError as error:
        if path.name not in str(error.filename or path):
            # It is a file that goes into it.
            raise InvalidInput(f"{error.filename} can't be read: {reason_of(error)}") from error
        raise InvalidInput(f"{path} can't be written: {reason_of(error)}; make room there, or name another place") from error


class Archive:
    """One that is open for reading, and is what it should be as far as its outside goes. See `reading`."""

    def __init__(self, path: Path, zip_file: zipfile.ZipFile) -> None:
        self.path, self._zip = path, zip_file
        infos = zip_file.infolist()
        if len(infos) > _MEMBERS_MAX or sum(info.file_size for info in infos) > _BYTES_MAX:
            raise InvalidInput(f"{path} is too large: at most {_MEMBERS_MAX:,} members and {_BYTES_MAX:,} bytes are taken")
        members: dict[str, zipfile.ZipInfo] = {}
        for info in infos:
            if problem := _problem_with(info, members):
                raise InvalidInput(f"{path} is not an archive of hive-mind: {info.filename[:100]!r} {problem}")
            members[info.filename] = info
        if missing := sorted({ABOUT, MANIFEST} - set(members)):
            raise InvalidInput(f"{path} is not an archive of hive-mind: it has no {missing[0]}")
        self._members = members
        body = self._bytes(ABOUT, _ABOUT_BYTES_MAX)
        try:
            about = json_decoder(About)(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidInput(f"{path} is not an archive of hive-mind: {ABOUT} can't be read ({error})") from error
        if about.format != _FORMAT:
            raise InvalidInput(f"{path} is not an archive of hive-mind: it calls itself {about.format[:40]!r}")
        if about.version != VERSION:
            version = "a newer hive-mind: upgrade" if about.version > VERSION else "an older form that is not read any more"
            raise InvalidInput(f"{path} was written by {version} (format {about.version}, known is {VERSION})")
        if set(about.digests) != set(self._members) - {ABOUT}:
            raise InvalidInput(f"{path} is not whole: {ABOUT} names other members than there are")
        checked_name(about.fleet, "fleet")
        if about.root or about.signature:
            try:
                is_genuine = is_signed(
                    b64decode(about.root, validate=True), _signed(about), b64decode(about.signature, validate=True)
                )
            except ValueError:
                is_genuine = False
            if not is_genuine:
                raise InvalidInput(f"the signature of {path} does not match: it was changed after signing. Export it again")
        self.about = about

    @property
    def agents(self) -> tuple[str, ...]:
        matches = (_MEMBER.fullmatch(name) for name in self._members)
        return tuple(sorted(match[1] for match in matches if match and match[2] == "jsonl"))

    def has(self, name: str) -> bool:
        return name in self._members

    def text(self, name: str) -> str:
        """A member whole. Raises `InvalidInput`."""
        try:
            return self._verified(name).decode()
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{self.path}: {name} is no UTF-8") from error

    def lines(self, name: str) -> list[bytes]:
        """A member line by line, without empty ones. Raises `InvalidInput`."""
        return [line for line in self._verified(name).split(b"\n") if line]

    def each_line(self, name: str) -> Iterator[bytes]:
        """The same, of a member that need not fit into RAM. Its errors may be raised after its last line only."""
        self._refuse_large(name, _MEMBER_BYTES_MAX)
        digest, left = sha256(), _MEMBER_BYTES_MAX
        with _translating(self.path), self._zip.open(name) as member:
            # It may hold more than it says.
            while line := member.readline(left + 1):
                left -= len(line)
                if left < 0:
                    raise _too_large(self.path, name, _MEMBER_BYTES_MAX)
                digest.update(line)
                if line != b"\n":
                    yield line.removesuffix(b"\n")
        self._refuse_other(name, digest.hexdigest())

    def _verified(self, name: str) -> bytes:
        body = self._bytes(name, _MEMBER_BYTES_MAX)
        self._refuse_other(name, sha256(body).hexdigest())
        return body

    def _refuse_other(self, name: str, digest: str) -> None:
        if digest != self.about.digests.get(name):
            raise InvalidInput(f"{self.path}: {name} is not what was written: the file is damaged, or somebody changed it")

    def _refuse_large(self, name: str, bytes_max: int) -> None:
        if name not in self._members:
            raise InvalidInput(f"{self.path} has no {name}: it is not whole")
        if self._members[name].file_size > bytes_max:
            raise _too_large(self.path, name, bytes_max)

    def _bytes(self, name: str, bytes_max: int) -> bytes:
        self._refuse_large(name, bytes_max)
        with _translating(self.path), self._zip.open(name) as member:
            # It may hold more than it says.
            body = member.read(bytes_max + 1)
        if len(body) > bytes_max:
            raise _too_large(self.path, name, bytes_max)
        return body


def _too_large(path: Path, name: str, bytes_max: int) -> InvalidInput:
    return InvalidInput(f"{path}: {name} is larger than {bytes_max:,} bytes")


@contextmanager
def reading(path: Path) -> Iterator[Archive]:
    """An archive. Raises `InvalidInput` for any other file."""
    with _translating(path):
        zip_file = zipfile.ZipFile(path)
    with zip_file:
        yield Archive(path, zip_file)


def digest_of(path: Path) -> str:
    """Of the file as a whole. Raises `InvalidInput`."""
    digest = sha256()
    with _translating(path), path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


@contextmanager
def _translating(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInput(f"{path} can't be read: {reason_of(error)}") from error
    # The errors of `zipfile` for bytes that are no zip, or one it can't read; zlib.error is an Exception of its own.
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, ValueError, EOFError) as error:
        # Some of its messages quote what they found.
        raise InvalidInput(
            f"{path} is not an archive of hive-mind, or is damaged: {str(error)[:_REASON_CHARACTERS_MAX]}"
        ) from error
    except Exception as error:
        if type(error).__module__ != "zlib":
            raise
        raise InvalidInput(f"{path} is damaged: {error}") from error


def _problem_with(info: zipfile.ZipInfo, names: Iterable[str]) -> str:
    match = _MEMBER.fullmatch(info.filename)
    if match is None:
        return "has no place in it"
    if match[1]:
        try:
            checked_name(match[1], "agent")
        except InvalidInput as error:
            return str(error)
    if info.filename in names:
        return "is there twice"
    if info.flag_bits & 0x1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is encrypted or packed in a way that is not ours"
    is_bomb = info.file_size > _RATIO_FROM_BYTES and info.file_size > _RATIO_MAX * max(info.compress_size, 1)
    return "says that it is far larger than what is there" if is_bomb else ""


def _signed(about: About) -> bytes:
    return b"hive-mind/archive/1/" + msgspec.json.encode(msgspec.structs.replace(about, signature=""), order="sorted")
