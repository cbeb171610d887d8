"""`hive-mind keys`: identities in a fleet. A root issues certificates; each process holds the key it proves itself with."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from hive_mind.cli import options
from hive_mind.cli.fleet import chosen_fleet
from hive_mind.cli.options import Format, Group, examples, settings_for
from hive_mind.cli.output import show, show_json, show_result, show_table
from hive_mind.clocks import wall_clock_ms
from hive_mind.control.state import FleetFolder
from hive_mind.errors import InvalidInput
from hive_mind.identity import Certificate
from hive_mind.runtime.keys import DAYS, KeyFolder

Process = Annotated[str, typer.Argument(metavar="NAME", help="The process, or the node, that is to prove itself.")]
Which = Annotated[str, typer.Argument(metavar="NAME|KEY", help="A name, or the first digits of a key as `list` shows it.")]
Target = Annotated[Path, typer.Argument(metavar="DIR", help="A folder to copy to where the process runs.")]
Also = Annotated[list[str], typer.Option("--agent", help="An agent on it, in whose name it may speak; repeat it for each.")]
Days = Annotated[int, typer.Option("--days", min=1, max=3650, help="How long the certificate holds.")]
Voucher = Annotated[str, typer.Option("--voucher", help="The voucher for it: all of one voucher count as one voice.")]
Since = Annotated[
    str, typer.Option("--since", help="Keep what it said before this time (2026-11-24T09:30, UTC).", show_default="keep nothing")
]


@dataclass(frozen=True, slots=True)
class Whose:
    """The owner of the keys, and the form in which the result is printed."""

    fleet: Annotated[str, typer.Option("--fleet", help="The fleet of the keys.", show_default="the fleet of this home")] = ""
    keys: Annotated[
        Path | None, typer.Option("--keys", help="The folder of keys, for a hive that no manifest describes.", file_okay=False)
    ] = None
    home: options.Home = None
    output: options.Output = Format.TEXT

    def folder(self) -> KeyFolder:
        if self.keys is not None:
            if self.fleet:
                raise InvalidInput("give --fleet or --keys, not both")
            return KeyFolder(self.keys, self.keys.name)
        root = settings_for(self.home).home
        chosen = self.fleet or chosen_fleet(root, self.fleet)
        return KeyFolder(FleetFolder(root, chosen).path / "keys", chosen)


# Typer wants a list. Nobody writes into it.
NOBODY: list[str] = []

group = Group(
    name="keys",
    help="Make, issue and revoke the keys by which members of a hive prove who they are.",
    no_args_is_help=True,
    epilog=examples("hive-mind keys list", "hive-mind keys revoke pumps", "hive-mind keys rotate pumps"),
)


@group.called_as("hive-mind keys init", "hive-mind keys init --keys town-keys")
async def init(at: Whose) -> None:
    """Make the root that issues certificates. Keep root.key where no worker can read it."""
    folder = at.folder()
    root = folder.found()
    sentence = f"root {root.id.hex()[:12]} of {folder.fleet} is in {folder.path}: bring root.key where nobody else can read it"
    show_result(at.output, {"folder": str(folder.path), "root": root.id.hex()}, sentence)


@group.called_as("hive-mind keys issue eve --keys town-keys", "hive-mind keys issue pumps --agent ferry --days 90")
async def issue(name: Process, agent: Also = NOBODY, days: Days = DAYS, voucher: Voucher = "", *, at: Whose) -> None:
    """Issue a certificate, for the existing key or for a new one."""
    _print_certificate(name, at.folder().issue(name, agent, days=days, voucher=voucher), at.output)


@group.called_as("hive-mind keys rotate pumps", "hive-mind rollout restart")
async def rotate(name: Process, at: Whose) -> None:
    """Make a new key for a process, under the same names. Its former messages stay; restart it to use the new one.

    The former key is still believed until it is revoked.
    """
    folder = at.folder()
    if (former := folder.certificate(name)) is None:
        raise InvalidInput(f"nothing was issued for {name}: hive-mind keys issue {name}")
    _print_certificate(name, folder.issue(name, former.names[1:], voucher=former.voucher, is_anew=True), at.output)


@group.called_as("hive-mind keys revoke pumps", "hive-mind keys revoke 4f2a91 --since 2026-11-24T09:30")
async def revoke(which: Which, since: Since = "", *, at: Whose) -> None:
    """Revoke a key: nobody believes it any more. This is for good; the name can get another key.

    Stamps are the signer's own, and a thief can backdate them. Give --since only where nobody else had the key before.
    """
    folder = at.folder()
    issued = list(folder.certificates())
    # A name may look like the beginning of a key, as "ada" does.
    matches = [(name, certificate) for name, certificate in issued if name == which]
    matches = matches or [(name, certificate) for name, certificate in issued if certificate.key_id.hex().startswith(which)]
    ids = {made_certificate.key_id for _, made_certificate in matches}
    if len(ids) != 1:
        problem = "is more than one key" if ids else "is neither a name nor a key that was issued"
        raise InvalidInput(f"{which} {problem}: hive-mind keys list")
    since_ms = _since_ms(since)
    folder.revoke(ids.pop(), since_ms)
    name, certificate = matches[0]
    key = certificate.key_id.hex()
    consequence = f"what it said before {since} stays" if since else "nothing it says is taken in any more"
    sentence = f"the key {key[:12]} of {name} is revoked; {consequence}"
    show_result(at.output, {"name": name, "key": key, "since_ms": since_ms}, sentence)


@group.called_as("hive-mind keys list", "hive-mind keys list -o json", name="list")
async def list_keys(at: Whose) -> None:
    """List every certificate: its key, the names it may use, until when, and whether it was revoked."""
    folder = at.folder()
    revoked = folder.revoked
    rows = [_row(name, certificate, revoked.get(certificate.key_id)) for name, certificate in folder.certificates()]
    if at.output is Format.JSON:
        show_json(rows)
        return
    if not rows:
        show(f"no certificates in {folder.path}: hive-mind keys init, then hive-mind keys issue NAME")
        return
    titles = ("name", "key", "until", "state", "speaks for")
    show_table(titles, [(row["name"], row["key"][:12], row["until"][:10], row["state"], " ".join(row["names"])) for row in rows])


@group.called_as("hive-mind keys export eve/ --name eve --keys town-keys")
async def export(
    target: Target, name: Annotated[str, typer.Option("--name", help="The process that is to run with it.")], at: Whose
) -> None:
    """Put what one process needs into a folder: its key, all certificates, what was revoked. Never the root's key."""
    files = at.folder().export(target, name)
    sentence = f"{target} has {', '.join(files)}: bring it to {name}, and let nobody else read {name}.key"
    show_result(at.output, {"folder": str(target), "files": files}, sentence)


def _print_certificate(name: str, certificate: Certificate, output: Format) -> None:
    sentence = (
        f"{name} has the key {certificate.key_id.hex()[:12]} and a certificate until {_date(certificate.not_after_ms)[:10]}"
    )
    show_result(output, _row(name, certificate, None), sentence)


def _row(name: str, certificate: Certificate, revoked_ms: int | None) -> dict[str, Any]:
    state = "revoked" if revoked_ms is not None else "expired" if certificate.not_after_ms < wall_clock_ms() else "good"
    revocation = {"since": _date(revoked_ms)} if revoked_ms else {}
    return {
        "name": name,
        "key": certificate.key_id.hex(),
        "until": _date(certificate.not_after_ms),
        "state": state,
        "names": list(certificate.names),
        "voucher": certificate.voucher,
        **revocation,
    }


def _date(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="minutes")


def _since_ms(text: str) -> int:
    if not text:
        return 0
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is not a time: write it as 2026-11-24T09:30") from None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
