"""OpenID Connect tokens and their refresh."""

from __future__ import annotations

import asyncio
import base64
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.auth.plugins import Clock

from masthead._auth.oidc import OidcToken, expiry_of
from masthead._meta.secret import Secret, SecretValue
from masthead.errors import AuthError, ConnectError

if TYPE_CHECKING:
    from collections.abc import Mapping

ISSUER = "https://login.example.com/realm"
SECRETS = ("client-secret-22", "refresh-token-22", "refresh-token-33")


def jwt(name: str, expires: datetime | float | None) -> str:
    """An unsigned token with an expiry."""
    end = expires.timestamp() if isinstance(expires, datetime) else expires
    claims = {"sub": name} if end is None else {"sub": name, "exp": end}
    parts = ({"alg": "none"}, claims)
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*encoded, "signature"])


OLD = jwt("old", datetime(2026, 1, 1, 0, 1, tzinfo=UTC))
NEW = jwt("new", datetime(2026, 1, 1, 1, 0, tzinfo=UTC))


class Issuer:
    """An issuer with scripted responses that records its requests."""

    def __init__(self) -> None:
        self.document: dict[str, Any] = {"issuer": ISSUER, "token_endpoint": f"{ISSUER}/token"}
        self.grant: object = {"id_token": NEW, "refresh_token": "refresh-token-33"}
        self.status = 200
        self.discoveries = 0
        self.exchanges: list[tuple[Mapping[str, str], dict[str, list[str]]]] = []
        self.saved: list[tuple[str, str]] = []
        self.clock = Clock()

    async def fetch(
        self, method: str, url: str, headers: Mapping[str, str | Secret], body: SecretValue[bytes] | None
    ) -> tuple[int, SecretValue[bytes]]:
        await asyncio.sleep(0)
        if method == "GET":
            assert url == f"{ISSUER}/.well-known/openid-configuration"
            self.discoveries += 1
            return 200, SecretValue(json.dumps(self.document).encode())
        assert (method, url) == ("POST", f"{ISSUER}/token")
        assert body is not None
        shown = {name: value.reveal() if isinstance(value, Secret) else value for name, value in headers.items()}
        self.exchanges.append((shown, parse_qs(body.reveal().decode())))
        grant = self.grant if isinstance(self.grant, bytes) else json.dumps(self.grant).encode()
        return self.status, SecretValue(grant)

    async def save(self, id_token: Secret, refresh_token: Secret) -> None:
        self.saved.append((id_token.reveal(), refresh_token.reveal()))

    def token(self, id_token: str = OLD, refresh_token: str = "refresh-token-22", **more: Any) -> OidcToken:
        settings: dict[str, Any] = {
            "issuer": ISSUER,
            "client_id": "kube",
            "client_secret": Secret("client-secret-22"),
            "id_token": Secret(id_token),
            "refresh_token": Secret(refresh_token),
            "fetch": self.fetch,
            "now": self.clock,
            "save": self.save,
            **more,
        }
        return OidcToken(**settings)


async def test_a_token_is_sent_until_shortly_before_its_expiry_then_replaced_and_saved() -> None:
    issuer = Issuer()
    token = issuer.token()

    issuer.clock.advance(49)
    assert (await token.authorization()).reveal() == f"Bearer {OLD}"
    assert issuer.discoveries == 0
    issuer.clock.advance(2)
    assert (await token.authorization()).reveal() == f"Bearer {NEW}"

    assert issuer.saved == [(NEW, "refresh-token-33")]
    assert await token.certificate() is None


async def test_a_hundred_callers_share_one_exchange() -> None:
    issuer = Issuer()
    token = issuer.token(id_token="")

    values = await asyncio.gather(*(token.authorization() for _ in range(100)))

    assert set(values) == {Secret(f"Bearer {NEW}")}
    assert len(issuer.exchanges) == 1


async def test_the_newest_refresh_token_is_used_and_the_provider_is_discovered_once() -> None:
    issuer = Issuer()
    token = issuer.token(id_token="")
    await token.authorization()
    issuer.grant = {"id_token": jwt("newer", None)}

    assert await token.renew(Secret(f"Bearer {NEW}"))

    assert [form["refresh_token"] for _, form in issuer.exchanges] == [
        ["refresh-token-22"],
        ["refresh-token-33"],
    ]
    assert issuer.saved[-1] == (jwt("newer", None), "refresh-token-33")
    assert issuer.discoveries == 1


async def test_a_token_without_expiry_is_sent_until_it_is_rejected() -> None:
    issuer = Issuer()
    endless = jwt("endless", None)
    token = issuer.token(id_token=endless)
    issuer.clock.advance(3000)

    assert (await token.authorization()).reveal() == f"Bearer {endless}"
    assert await token.renew(Secret(f"Bearer {endless}"))
    assert await token.renew(Secret(f"Bearer {endless}"))
    assert (await token.authorization()).reveal() == f"Bearer {NEW}"
    assert len(issuer.exchanges) == 1


async def test_without_a_refresh_token_a_rejection_is_final() -> None:
    issuer = Issuer()

    assert not await issuer.token(refresh_token="").renew(Secret(f"Bearer {OLD}"))


@pytest.mark.parametrize(("id_token", "problem"), [(OLD, "has expired"), ("", "is missing"), ("x.y", "is invalid")])
async def test_expiry_without_a_refresh_token_is_an_error(id_token: str, problem: str) -> None:
    issuer = Issuer()
    issuer.clock.advance(3600)

    with pytest.raises(AuthError, match=rf"{problem}.* no refresh token; log in again"):
        await issuer.token(id_token=id_token, refresh_token="").authorization()


@pytest.mark.parametrize(
    ("methods", "is_header"),
    [(None, True), (["client_secret_post", "client_secret_basic"], True), (["client_secret_post"], False)],
)
async def test_the_client_authenticates_as_the_issuer_requires(methods: list[str] | None, is_header: bool) -> None:
    issuer = Issuer()
    if methods is not None:
        issuer.document["token_endpoint_auth_methods_supported"] = methods

    await issuer.token(id_token="", client_secret=Secret("s:e&c/r+22")).authorization()

    headers, form = issuer.exchanges[0]
    assert form["grant_type"] == ["refresh_token"]
    if is_header:
        sent = base64.b64decode(headers["Authorization"].removeprefix("Basic ")).decode()
        assert sent == "kube:s%3Ae%26c%2Fr%2B22"
        assert "client_secret" not in form
    else:
        assert "Authorization" not in headers
        assert (form["client_id"], form["client_secret"]) == (["kube"], ["s:e&c/r+22"])


async def test_a_client_without_a_secret_sends_only_its_id() -> None:
    issuer = Issuer()

    await issuer.token(id_token="", client_secret=Secret()).authorization()

    headers, form = issuer.exchanges[0]
    assert "Authorization" not in headers
    assert sorted(form) == ["client_id", "grant_type", "refresh_token"]


async def test_tokens_that_cannot_be_saved_are_still_used(caplog: pytest.LogCaptureFixture) -> None:
    issuer = Issuer()

    async def save(id_token: Secret, refresh_token: Secret) -> None:
        raise ValueError(f"disk full at {id_token.reveal()} {refresh_token.reveal()}")

    assert (await issuer.token(id_token="", save=save).authorization()).reveal() == f"Bearer {NEW}"

    assert len(caplog.records) == 1
    assert "could not be saved, and are lost when this process ends: ValueError: disk full" in caplog.text
    assert not any(secret in caplog.text for secret in (NEW, *SECRETS))


async def test_a_started_exchange_is_finished_and_saved_though_its_caller_is_cancelled() -> None:
    issuer = Issuer()
    begun, goes_on = asyncio.Event(), asyncio.Event()
    sent: list[str] = []

    async def fetch(
        method: str, url: str, headers: Mapping[str, str | Secret], body: SecretValue[bytes] | None
    ) -> tuple[int, SecretValue[bytes]]:
        sent.append(method)
        if method == "POST":
            begun.set()
            await goes_on.wait()
        return await issuer.fetch(method, url, headers, body)

    token = issuer.token(id_token="", fetch=fetch)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(token.authorization())
        await begun.wait()
        second = group.create_task(token.authorization())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        goes_on.set()

    assert first.cancelled()
    assert second.result().reveal() == f"Bearer {NEW}"
    assert sent == ["GET", "POST"]
    assert issuer.saved == [(NEW, "refresh-token-33")]


DOCUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"issuer": "https://evil.example.com"}, "identifies itself as 'https://evil.example.com'"),
    ({"token_endpoint": "http://login.example.com/token"}, "not https"),
    ({"token_endpoint": "file:///etc/passwd"}, "not https"),
    ({"token_endpoint": "http://[::1"}, "not https"),
    ({"token_endpoint": 5}, "cannot be read"),
]


@pytest.mark.parametrize(("change", "problem"), DOCUMENTS)
async def test_an_issuer_with_an_invalid_discovery_document_gets_no_refresh_token(
    change: dict[str, Any], problem: str
) -> None:
    issuer = Issuer()
    issuer.document |= change

    with pytest.raises(AuthError, match=problem):
        await issuer.token(id_token="").authorization()

    assert issuer.exchanges == []


@pytest.mark.parametrize(
    ("address", "is_requested"),
    [
        ("http://127.0.0.1:5556/dex", True),
        ("http://localhost/", True),
        ("http://10.0.0.1/", False),
        ("", False),
    ],
)
async def test_an_issuer_must_be_https_or_on_this_machine(address: str, is_requested: bool) -> None:
    requested: list[str] = []

    async def fetch(_method: str, url: str, *_: object) -> tuple[int, SecretValue[bytes]]:
        requested.append(url)
        return 404, SecretValue(b"")

    with pytest.raises(AuthError):
        await Issuer().token(id_token="", issuer=address, fetch=fetch).authorization()

    assert bool(requested) == is_requested
    assert all(url == f"{address.rstrip('/')}/.well-known/openid-configuration" for url in requested)


GRANTS: list[tuple[int, object, str]] = [
    (
        400,
        {"error": "invalid_grant", "error_description": "no refresh-token-22 here"},
        "400: invalid_grant no .* here",
    ),
    (401, {"error": "invalid_client", "error_description": "not client-secret-22"}, "401: invalid_client"),
    (500, b"<html>refresh-token-22</html>", "500: no reason given"),
    (302, b"", "302: no reason given"),
    (200, b"refresh-token-22", "cannot be read"),
    (200, b'{"id_token": "refresh-token-22\xff"}', "cannot be read"),
    (200, {"id_token": 5, "refresh_token": "refresh-token-33"}, "cannot be read"),
    (200, {"access_token": "refresh-token-33"}, "gave no id_token; log in again with scope openid"),
    (200, {"id_token": "refresh-token-33 refresh-token-33"}, "contains blanks"),
]


@pytest.mark.parametrize(("status", "grant", "problem"), GRANTS)
async def test_a_failed_exchange_is_an_error_without_secrets_and_is_retried(
    status: int, grant: object, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    issuer = Issuer()
    issuer.status, issuer.grant = status, grant
    token = issuer.token(id_token="")

    with pytest.raises(AuthError, match=problem) as caught:
        await token.authorization()

    shown = f"{caught.value!r} {caught.value.__cause__!r} {token!r} {caplog.text}"
    assert ISSUER in shown
    assert not any(secret in shown for secret in SECRETS)
    issuer.status, issuer.grant = 200, {"id_token": NEW}
    assert (await token.authorization()).reveal() == f"Bearer {NEW}"


@pytest.mark.parametrize("error", [ConnectError("refused with refresh-token-22"), OSError("no route")])
async def test_an_issuer_that_cannot_be_reached_is_an_auth_error(error: Exception) -> None:
    async def fetch(*_: object) -> tuple[int, SecretValue[bytes]]:
        raise error

    with pytest.raises(AuthError, match="could not be reached for a new token") as caught:
        await Issuer().token(id_token="", fetch=fetch).authorization()

    assert "refresh-token-22" not in str(caught.value)


async def test_a_new_token_that_is_expired_by_the_local_clock_is_sent_anyway() -> None:
    issuer = Issuer()
    issuer.clock.advance(10**6)

    token = issuer.token()

    assert (await token.authorization()).reveal() == (await token.authorization()).reveal() == f"Bearer {NEW}"
    assert len(issuer.exchanges) == 1


@pytest.mark.parametrize("end", [1767225600, 1767225600.0])
def test_the_expiry_is_read_from_the_token(end: float) -> None:
    assert expiry_of(Secret(jwt("x", end))) == datetime(2026, 1, 1, tzinfo=UTC)


@given(st.one_of(st.text(), st.binary().map(lambda raw: f"a.{base64.urlsafe_b64encode(raw).decode()}.c")))
def test_an_invalid_jwt_is_a_value_error_without_its_text(text: str) -> None:
    message = ""
    try:
        expiry_of(Secret(text))
    except ValueError as error:
        message = str(error)

    assert len(text) < 12 or text not in message


@pytest.mark.parametrize("end", [1e300, -1e300, 1e18])
def test_an_out_of_range_expiry_is_a_value_error(end: float) -> None:
    with pytest.raises(ValueError, match="second part"):
        expiry_of(Secret(jwt("x", end)))
