"""TLS settings that follow the files they are made of."""

from __future__ import annotations

import os
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from masthead._auth.credentials import Certificate
from masthead._auth.tls import TlsContexts
from masthead._auth.tokens import AnonymousCredentials
from masthead._meta.secret import Secret
from masthead._transport.failures import unreachable
from masthead.errors import AuthError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Clock:
    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


class Plugin(AnonymousCredentials):
    """Credentials that come with a certificate."""

    def __init__(self, given: Certificate | None) -> None:
        self.given = given

    async def certificate(self) -> Certificate | None:
        if self.given is None:
            raise AuthError("nobody is logged in")
        return self.given


def pem(authority: trustme.CA) -> str:
    return authority.cert_pem.bytes().decode()


def issue(authority: trustme.CA, name: str = "client") -> Certificate:
    made = authority.issue_cert(common_name=name)
    return Certificate(
        "".join(part.bytes().decode() for part in made.cert_chain_pems),
        Secret(made.private_key_pem.bytes().decode()),
    )


def contexts(**settings: Any) -> TlsContexts:
    return TlsContexts(**{"key_data": Secret(), "now": Clock(), **settings})


def replace(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def meet(client: ssl.SSLContext, server: ssl.SSLContext) -> str:
    """Shake hands in memory; the name in the certificate that the client showed."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname="localhost"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    waiting = list(ends)
    while waiting:
        for end in list(waiting):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(end)
    assert ends[0].selected_alpn_protocol() == "http/1.1"
    shown: Any = ends[1].getpeercert() or {}
    return next((value for ((name, value),) in shown.get("subject", ()) if name == "commonName"), "")


def server_of(authority: trustme.CA, clients: trustme.CA | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    context.set_alpn_protocols(["h2", "http/1.1"])
    if clients is not None:
        clients.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@pytest.fixture
def nothing_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Temporary files have a folder of their own, which is empty in the end; and no file stays open."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = open_files()
    yield
    assert list(folder.iterdir()) == []
    assert open_files() == before


def open_files() -> int:
    """The number of open file descriptors, where that can be counted."""
    listed = Path("/proc/self/fd")
    return len(list(listed.iterdir())) if listed.is_dir() else 0


@pytest.fixture(params=["memory", "disk"])
def keys_on(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where keys are kept while ssl reads them: some sandboxes forbid files in memory."""
    if request.param == "disk":

        def forbidden(*_: object) -> int:
            raise PermissionError

        monkeypatch.setattr(os, "memfd_create", forbidden, raising=False)


async def test_a_given_authority_is_trusted_and_no_other() -> None:
    ours, theirs = trustme.CA(), trustme.CA()
    context = await contexts(ca_data=f"Unsere Behörde\n{pem(ours)}").context()

    assert meet(context, server_of(ours)) == ""
    with pytest.raises(ssl.SSLCertVerificationError):
        meet(context, server_of(theirs))
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2


async def test_every_authority_of_a_bundle_is_trusted() -> None:
    ours, theirs = trustme.CA(), trustme.CA()
    context = await contexts(ca_data=pem(ours) + pem(theirs)).context()

    for authority in (ours, theirs):
        meet(context, server_of(authority))


async def test_an_intermediate_authority_is_trusted() -> None:
    between = trustme.CA().create_child_ca()

    meet(await contexts(ca_data=pem(between)).context(), server_of(between))


async def test_without_a_ca_the_system_authorities_are_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = trustme.CA()
    (tmp_path / "ca.crt").write_text(pem(ours))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.crt"))

    context = await contexts().context()

    meet(context, server_of(ours))
    with pytest.raises(ssl.SSLCertVerificationError):
        meet(context, server_of(trustme.CA()))


async def test_a_common_name_alone_does_not_identify_a_server() -> None:
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(common_name="localhost").configure_cert(server)
    server.set_alpn_protocols(["http/1.1"])

    with pytest.raises(ssl.SSLCertVerificationError) as caught:
        meet(await contexts(ca_data=pem(authority)).context(), server)

    assert "reissued with a subject alternative name" in unreachable("localhost:6443", caught.value)
    meet(await contexts(insecure=True).context(), server)


async def test_insecure_accepts_any_certificate() -> None:
    meet(await contexts(insecure=True).context(), server_of(trustme.CA()))


@pytest.mark.usefixtures("keys_on", "nothing_left_behind")
async def test_a_configured_client_certificate_is_sent() -> None:
    ours = trustme.CA()
    shown = issue(ours, "me")

    context = await contexts(ca_data=pem(ours), certificate_data=shown.certificate, key_data=shown.key).context()

    assert meet(context, server_of(ours, ours)) == "me"


async def test_the_same_context_is_returned_until_a_file_changes(tmp_path: Path) -> None:
    ours, clock, path = trustme.CA(), Clock(), tmp_path / "ca.crt"
    path.write_text(pem(ours))
    tls = contexts(ca_file=path, now=clock)
    first = await tls.context()

    clock.at += 6
    assert await tls.context() is first
    replace(path, pem(ours))  # another file, the same content
    clock.at += 6
    assert await tls.context() is first
    replace(path, pem(trustme.CA()))
    clock.at += 4
    assert await tls.context() is first
    clock.at += 2
    assert await tls.context() is not first


async def test_a_new_authority_is_trusted_after_a_rename(tmp_path: Path) -> None:
    old, new, clock, path = trustme.CA(), trustme.CA(), Clock(), tmp_path / "ca.crt"
    path.write_text(pem(old))
    tls = contexts(ca_file=path, now=clock)
    meet(await tls.context(), server_of(old))

    replace(path, pem(new))
    clock.at += 6

    meet(await tls.context(), server_of(new))


async def test_certificate_and_key_follow_a_swapped_symlink(tmp_path: Path) -> None:
    ours, clock = trustme.CA(), Clock()
    for version, name in (("v1", "first"), ("v2", "second")):
        made = issue(ours, name)
        (tmp_path / version).mkdir()
        (tmp_path / version / "tls.crt").write_text(made.certificate)
        (tmp_path / version / "tls.key").write_text(made.key.reveal())
    (tmp_path / "..data").symlink_to("v1")
    paths = {"certificate_file": tmp_path / "tls.crt", "key_file": tmp_path / "tls.key"}
    for path in paths.values():
        path.symlink_to(f"..data/{path.name}")
    tls = contexts(ca_data=pem(ours), now=clock, **paths)
    assert meet(await tls.context(), server_of(ours, ours)) == "first"

    (tmp_path / "swap").symlink_to("v2")
    (tmp_path / "swap").replace(tmp_path / "..data")
    clock.at += 6

    assert meet(await tls.context(), server_of(ours, ours)) == "second"


@pytest.mark.usefixtures("keys_on", "nothing_left_behind")
async def test_an_incomplete_rotation_keeps_the_old_pair(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ours, clock = trustme.CA(), Clock()
    old, new = issue(ours, "old"), issue(ours, "new")
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    certificate.write_text(old.certificate)
    key.write_text(old.key.reveal())
    tls = contexts(ca_data=pem(ours), certificate_file=certificate, key_file=key, now=clock)
    first = await tls.context()

    replace(certificate, new.certificate)
    for _ in range(3):
        clock.at += 6
        assert await tls.context() is first
    assert len(caplog.records) == 1
    assert "the key belongs to another certificate; the previous value stays in use" in caplog.text
    replace(key, new.key.reveal())
    clock.at += 6

    assert meet(await tls.context(), server_of(ours, ours)) == "new"
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "spoilt", ["", "rubbish", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", None]
)
async def test_an_invalid_ca_file_keeps_the_old_ca_and_logs_one_line(
    tmp_path: Path, spoilt: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    clock, path = Clock(), tmp_path / "ca.crt"
    path.write_text(pem(trustme.CA()))
    tls = contexts(ca_file=path, now=clock)
    first = await tls.context()
    if spoilt is None:
        path.unlink()
    else:
        replace(path, spoilt)

    for _ in range(3):
        clock.at += 6
        assert await tls.context() is first

    assert len(caplog.records) == 1
    assert str(path) in caplog.text


@pytest.mark.parametrize(
    "spoilt", ["", "rubbish", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", None]
)
async def test_an_invalid_ca_file_at_the_start_is_a_config_error_that_names_the_file(
    tmp_path: Path, spoilt: str | None
) -> None:
    path = tmp_path / "ca.crt"
    if spoilt is not None:
        path.write_text(spoilt)
    tls = contexts(ca_file=path)

    with pytest.raises(ConfigError) as caught:
        await tls.context()
    assert str(path) in str(caught.value)

    path.write_text(pem(trustme.CA()))
    await tls.context()


@pytest.mark.usefixtures("keys_on", "nothing_left_behind")
@pytest.mark.parametrize("spoilt", ["certificate", "key", "other key", "locked key", "no key file"])
async def test_an_invalid_pair_at_the_start_is_an_auth_error_that_names_the_file(tmp_path: Path, spoilt: str) -> None:
    ours = trustme.CA()
    made = issue(ours)
    key = {"key": "hunter22", "other key": issue(ours).key.reveal(), "locked key": locked(made)}
    certificate_file, key_file = tmp_path / "tls.crt", tmp_path / "tls.key"
    certificate_file.write_text("rubbish" if spoilt == "certificate" else made.certificate)
    if spoilt != "no key file":
        key_file.write_text(key.get(spoilt, made.key.reveal()))
    tls = contexts(ca_data=pem(ours), certificate_file=certificate_file, key_file=key_file)

    with pytest.raises(AuthError) as caught:
        await tls.context()

    assert str(key_file) in str(caught.value)
    assert ("passphrase" in str(caught.value)) == (spoilt == "locked key")
    assert "hunter22" not in f"{caught.value!r} {caught.value.__cause__!r}"


def locked(made: Certificate) -> str:
    """The key, encrypted."""
    key = serialization.load_pem_private_key(made.key.reveal().encode(), None)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"hunter22"),
    ).decode()


async def test_a_certificate_from_credentials_is_sent_and_reloaded() -> None:
    ours = trustme.CA()
    plugin = Plugin(issue(ours, "first"))
    tls = contexts(ca_data=pem(ours), credentials=plugin)
    first = await tls.context()
    assert meet(first, server_of(ours, ours)) == "first"
    assert await tls.context() is first

    plugin.given = issue(ours, "second")

    assert meet(await tls.context(), server_of(ours, ours)) == "second"


async def test_failing_or_invalid_credentials_are_never_ignored() -> None:
    ours = trustme.CA()
    plugin = Plugin(issue(ours))
    tls = contexts(ca_data=pem(ours), credentials=plugin)
    await tls.context()

    plugin.given = Certificate("rubbish", Secret("hunter22"))
    for _ in range(2):
        with pytest.raises(AuthError, match="cannot be used"):
            await tls.context()
    plugin.given = None
    with pytest.raises(AuthError, match="nobody is logged in"):
        await tls.context()


async def test_credentials_without_a_certificate_leave_the_one_from_files() -> None:
    ours = trustme.CA()
    made = issue(ours, "filed")

    tls = contexts(
        ca_data=pem(ours),
        certificate_data=made.certificate,
        key_data=made.key,
        credentials=AnonymousCredentials(),
    )

    assert meet(await tls.context(), server_of(ours, ours)) == "filed"


def test_a_certificate_without_its_key_is_rejected() -> None:
    with pytest.raises(AuthError, match="client key in the configuration is given without its counterpart"):
        contexts(key_data=Secret("hunter22"))
    with pytest.raises(AuthError, match="client certificate x is given without its counterpart"):
        contexts(certificate_file=Path("x"))


def test_an_authority_and_insecure_contradict_each_other() -> None:
    with pytest.raises(ConfigError, match="keep one of them"):
        contexts(ca_data="x", insecure=True)


async def test_no_repr_shows_a_key() -> None:
    made = issue(trustme.CA())
    line = made.key.reveal().splitlines()[1]
    tls = contexts(certificate_data=made.certificate, key_data=made.key)
    await tls.context()

    assert line not in repr((tls, vars(tls)))
