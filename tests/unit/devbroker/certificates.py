"""A certificate for this machine that nobody else trusts, and a credential that is a fixed token."""

import ssl
import subprocess
import time
from pathlib import Path

import pytest
from azure.core.credentials import AccessToken


class Credential:
    """What azure-identity gives, without asking anybody."""

    def __init__(self, token: str) -> None:
        self._token = token

    def get_token(self, *_scopes, **_options) -> AccessToken:
        return AccessToken(self._token, int(time.time()) + 3600)


def certified(folder: Path) -> tuple[ssl.SSLContext, str]:
    """The broker's context, and the file that a client trusts."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    made = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    try:
        command = ["openssl", "req", *made, *names, "-keyout", key, "-out", certificate]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        pytest.skip(f"openssl makes no certificate here: {error}")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context, str(certificate)
