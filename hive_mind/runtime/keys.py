"""The keys of a fleet in a folder: the root's, which issues, and those of processes. root.key and NAME.key are secret (0600).

    root.key   root.pub   NAME.key   NAME.cert   revoked   NUMBER.epoch

A process reads root.pub, its own key, every certificate and the revocations; the root's key is for the issuer, and best kept
elsewhere. The other certificates that a fleet learned of are in its beats. In a container the key is mounted from a secret of its
own, and the folder is that of `published`, with all certificates in one file, a line each.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, unquote

from hive_mind.clocks import wall_clock_ms
from hive_mind.errors import ConfigError, InvalidInput, reason_of
from hive_mind.identity import (
    KEY_BYTES,
    REVOKED_MAX,
    Certificate,
    Epoch,
    Keyring,
    PrivateKey,
    Revocations,
    Revoked,
    issued,
    read,
)
from hive_mind.identity.epochs import EpochKeys, Mode, Signing, handed_out
from hive_mind.model.aggregation import DAY_MS
from hive_mind.safe_files import private_folder, write_whole

DAYS = 365
"""How long a certificate holds where nothing else is said."""
_SHOWN = 0o644
# The capacity of a ConfigMap: certificates of some 3,000 processes.
_FILE_BYTES_MAX = 1 << 20
_ALL = "certificates"
_EPOCHS = "epochs"
# Of which messages may still wait on the bus, for a member that was away.
_EPOCHS_KEPT = 8
_Kind = TypeVar("_Kind", Certificate, Revocations, Epoch)


@dataclass(frozen=True, slots=True)
class Proof:
    """How a process proves who it is: with the key of this name in a folder, or in a file elsewhere.

    `warn`: others are believed without. `is_encrypted`: it sends nothing in plain, and hears nothing that is.
    """

    mode: Mode
    folder: Path
    name: str
    key: Path | None = None
    is_encrypted: bool = False


class KeyFolder:
    """See above. `fleet` is whose keys they are. Raises `ConfigError` for what is missing or broken, with what to do."""

    def __init__(self, path: Path, fleet: str) -> None:
        self.path, self.fleet = path, fleet

    @property
    def is_founded(self) -> bool:
        return (self.path / "root.pub").exists()

    def found(self) -> PrivateKey:
        """Make the root. Raises `InvalidInput` where there is one: another would make all certificates worthless."""
        if self.is_founded:
            raise InvalidInput(f"fleet {self.fleet} has a root already, in {self.path}; keys rotate makes a process a new key")
        root = PrivateKey.generate()
        self._write("root.key", root.raw)
        self._write("root.pub", root.public)
        return root

    def issue(
        self, name: str, also: Iterable[str] = (), *, days: int = DAYS, voucher: str = "", is_anew: bool = False
    ) -> Certificate:
        """A certificate for a process and what else it may be called; its key is made where there is none, or `is_anew`.

        So it is where it may no longer be called something: what it said under that name stays, by the key it had.
        """
        root, key, former = self._root(), self._key(name), self.certificate(name)
        names = tuple(dict.fromkeys((name, *also)))
        is_spent = key is not None and key.id in self.revoked
        if key is None or is_anew or is_spent or (former is not None and not set(former.names) <= set(names)):
            key = PrivateKey.generate()
            if former is not None:
                self._write(f"{_file(name)}.{former.key_id.hex()[:12]}.cert", self._read(f"{_file(name)}.cert"))
            self._write(f"{_file(name)}.key", key.raw)
        now_ms = wall_clock_ms()
        # Of the same key, it also says so of the time before: a newcomer is shown this one only, and what was said back then.
        # A day earlier: also to a member whose clock is behind, it holds at once.
        since_ms = former.not_before_ms if former is not None and former.key_id == key.id else now_ms - DAY_MS
        box = key.box.public_key().public_bytes_raw()
        certificate = Certificate(self.fleet, names, key.public, since_ms, now_ms + days * DAY_MS, voucher, box)
        self._write(f"{_file(name)}.cert", issued(root, certificate))
        if self.epoch() is not None:
            self.admit(name)
        return certificate

    def is_issued(self, name: str, also: Iterable[str], *, days_left: int) -> bool:
        """Whether a certificate covers all of this and stays valid that long."""
        try:
            certificate, key = self.certificate(name), self._key(name)
        except ConfigError:
            return False
        until_ms = wall_clock_ms() + days_left * DAY_MS
        if certificate is None or key is None or certificate.key_id != key.id or certificate.key_id in self.revoked:
            return False
        return certificate.not_after_ms > until_ms and {name, *also} == set(certificate.names)

    def certificate(self, name: str) -> Certificate | None:
        """The certificate last issued for it."""
        data = self._read(f"{_file(name)}.cert")
        return self._checked(data, Certificate) if data else None

    def certificates(self) -> Iterator[tuple[str, Certificate]]:
        """All of them, by name. Broken ones are left out."""
        for file in sorted(self.path.glob("*.cert")):
            name = unquote(file.stem)
            try:
                certificate = self.certificate(name)
            except ConfigError:
                continue
            if certificate is not None:
                yield name, certificate

    def revoke(self, key: bytes, since_ms: int = 0) -> Revocations:
        """Let nobody believe a key any more: nothing of it, or only what it stamped before `since_ms`."""
        entries = {**self.revoked, key: min(since_ms, self.revoked.get(key, since_ms))}
        if len(entries) > REVOKED_MAX:
            raise InvalidInput(f"at most {REVOKED_MAX:,} keys can be revoked: found the fleet anew under another root")
        revocations = Revocations(self.fleet, tuple(Revoked(key, since) for key, since in sorted(entries.items())))
        self._write("revoked", issued(self._root(), revocations))
        self.advance()
        return revocations

    def epoch(self) -> Epoch | None:
        """The newest, None where nothing is encrypted."""
        files = self._epoch_files()
        return self._checked(self._read(files[-1].name), Epoch) if files else None

    def admit(self, name: str) -> None:
        """Hand the secret of the epoch to a process that has a certificate; the first epoch begins with the first one."""
        last, certificate = self.epoch(), self.certificate(name)
        if certificate is None or (last is not None and certificate.key_id in last.handed):
            return
        if not certificate.box:
            raise ConfigError(f"the certificate of {name} is of an earlier version: hive-mind keys issue {name}")
        self._hand_out(last.number if last else 1, {*(last.handed if last else ()), certificate.key_id})

    def advance(self, without: str = "") -> bool:
        """Begin another epoch, if anybody of this one may not know what is sent from now on; whether one was begun.

        That is who was revoked, and `without`: the process of a member that was put out, which can be admitted again.
        """
        if (last := self.epoch()) is None:
            return False
        revoked, keys_gone = (
            self.revoked,
            {certificate.key_id for certificate in self._issued() if without and without in certificate.names},
        )
        keys = {key for key in last.handed if key not in revoked and key not in keys_gone}
        if len(keys) < len(last.handed):
            self._hand_out(last.number + 1, keys)
        return len(keys) < len(last.handed)

    def _hand_out(self, number: int, keys: set[bytes]) -> None:
        to = {certificate.key_id: certificate for certificate in self._issued() if certificate.key_id in keys and certificate.box}
        self._write(f"{number:09}.epoch", handed_out(self._root(), self.fleet, number, to.values()))
        for old in self._epoch_files()[:-_EPOCHS_KEPT]:
            old.unlink(missing_ok=True)

    def _epoch_files(self) -> list[Path]:
        return sorted(self.path.glob("*.epoch"))

    def _issued(self) -> Iterator[Certificate]:
        for data in self._all():
            yield self._checked(data, Certificate)

    @property
    def revoked(self) -> dict[bytes, int]:
        """Keys that are revoked, each with the time from which on."""
        data = self._read("revoked")
        return {revocation.key_id: revocation.since_ms for revocation in self._checked(data, Revocations).revoked} if data else {}

    def signing(self, name: str, mode: Mode, key: Path | None = None, *, is_encrypted: bool = False) -> Signing:
        """Signs and checks as a process of this name; `key` is the file of its key where that is not in the folder."""
        private_key = self._key(name) if key is None else self._key_in(str(key))
        data = self._read(f"{_file(name)}.cert") if key is None else self._certificate_of(name, private_key)
        if private_key is None or not data:
            raise ConfigError(
                f"{key or self.path} has no key and certificate for {name}: hive-mind keys issue {name}, and bring them here"
            )
        try:
            keyring = Keyring(self._public(), private_key, data)
        except InvalidInput as error:
            raise ConfigError(f"{self.path}, {name}: {error}") from error
        epochs = EpochKeys(self._public(), private_key) if is_encrypted else None
        signing = Signing(keyring, is_required=mode == "require", epochs=epochs)
        self.refresh(signing)
        return signing

    def refresh(self, signing: Signing) -> None:
        """Take in what was issued and revoked since. Files that can't be read now are read the next time."""
        for data in self._all():
            signing.keyring.learn(data)
        signing.keyring.revoke(self._read("revoked"))
        for data in self._epochs() if signing.epochs else ():
            if signing.epochs:
                signing.epochs.learn(data)

    def published(self) -> dict[str, str]:
        """The texts that every process may read, by file name: nothing of them is secret."""
        files = {"root.pub": [self._public()], _ALL: [*self._all()], "revoked": [self._read("revoked")]}
        files[_EPOCHS] = [*self._epochs()]
        return {name: "".join(f"{_text(certificate)}\n" for certificate in parts) for name, parts in files.items() if any(parts)}

    def key_of(self, name: str) -> tuple[str, str]:
        """The name of a process's key, and the text of its file: a secret, for this process alone."""
        key = self._key(name)
        if key is None:
            raise ConfigError(f"{self.path} has no key for {name}: hive-mind keys issue {name}")
        return key.id.hex(), f"{_text(key.raw)}\n"

    def export(self, target: Path, name: str) -> list[str]:
        """Copy what a process of this name needs, and nothing more; the names of the files."""
        certificate = self.certificate(name)
        if not self.is_issued(name, certificate.names if certificate else (), days_left=0):
            raise InvalidInput(f"{name} has no valid certificate: hive-mind keys issue {name}")
        files = ["root.pub", f"{_file(name)}.key", *sorted(file.name for file in self.path.glob("*.cert"))]
        files += ["revoked"] if self._read("revoked") else []
        files += [file.name for file in self._epoch_files()]
        folder = KeyFolder(target, self.fleet)
        for file in files:
            folder._write(file, self._read(file))
        return files

    def mover(self) -> Keyring:
        """A key that speaks for everybody, for as long as facts are moved; its certificate stays, so that they are believed."""
        root, key = self._root(), PrivateKey.generate()
        now_ms = wall_clock_ms()
        mover_certificate = issued(root, Certificate(self.fleet, ("*",), key.public, 0, now_ms + DAY_MS))
        self._write(f"moved-{key.id.hex()[:12]}.cert", mover_certificate)
        return Keyring(root.public, key, mover_certificate)

    def root_if_here(self) -> PrivateKey | None:
        """The root's key, where it was not brought to a safer place. Raises `ConfigError` where it is broken."""
        raw = self._read("root.key")
        return self._private(raw, "root.key") if raw else None

    def _root(self) -> PrivateKey:
        raw = self._read("root.key")
        if not raw:
            remedy = "bring root.key here" if self.is_founded else "hive-mind keys init"
            raise ConfigError(f"{self.path} has no root to sign with: {remedy}")
        return self._private(raw, "root.key")

    def _public(self) -> bytes:
        if len(public := self._read("root.pub")) != KEY_BYTES:
            raise ConfigError(f"{self.path} says no root: bring root.pub of the fleet here, or make one with hive-mind keys init")
        return public

    def _all(self) -> Iterator[bytes]:
        for file in (*sorted(self.path.glob("*.cert")), self.path / _ALL):
            yield from self._lines(file.name)

    def _epochs(self) -> Iterator[bytes]:
        for file in (*self._epoch_files(), self.path / _EPOCHS):
            yield from self._lines(file.name)

    def _certificate_of(self, name: str, key: PrivateKey | None) -> bytes:
        """The certificate of a key that lies elsewhere. Raises `ConfigError` where it is another process's."""
        for data in self._all() if key else ():
            certificate = self._checked(data, Certificate)
            if key is not None and certificate.key_id == key.id:
                if certificate.speaks_for(name):
                    return data
                raise ConfigError(f"the key that {name} was given is that of {certificate.names[0]}: give each process its own")
        return b""

    def _key(self, name: str) -> PrivateKey | None:
        return self._key_in(f"{_file(name)}.key")

    def _key_in(self, file: str) -> PrivateKey | None:
        raw = self._read(file)
        return self._private(raw, file) if raw else None

    def _private(self, raw: bytes, name: str) -> PrivateKey:
        try:
            return PrivateKey(raw)
        except InvalidInput as error:
            raise ConfigError(f"{self.path / name}: {error}; issue another") from error

    def _checked(self, data: bytes, kind: type[_Kind]) -> _Kind:
        try:
            return read(self._public(), data, kind)
        except InvalidInput as error:
            raise ConfigError(f"{self.path}: {error}") from error

    def _read(self, name: str) -> bytes:
        """The bytes of a file, b"" where there is none."""
        return next(self._lines(name), b"")

    def _lines(self, name: str) -> Iterator[bytes]:
        """The contents of each line of a file. In base64, so that it can be copied and kept anywhere."""
        try:
            text = (self.path / name).read_bytes()[:_FILE_BYTES_MAX]
            yield from [base64.b64decode(line, validate=True) for line in text.split()]
        except FileNotFoundError:
            return
        except (OSError, binascii.Error) as error:
            raise ConfigError(f"{self.path / name} can't be read: {reason_of(error)}") from error

    def _write(self, name: str, body: bytes) -> None:
        is_secret = name.endswith(".key")
        private_folder(self.path)
        write_whole(self.path / name, f"{_text(body)}\n".encode(), *(() if is_secret else (_SHOWN,)))


def _text(body: bytes) -> str:
    return base64.b64encode(body).decode()


def _file(name: str) -> str:
    return quote(name, safe="")
