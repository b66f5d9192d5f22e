"""Who sends a request: users of a token file, anonymous requests, and the tokens of service accounts."""

from __future__ import annotations

import base64
import json
import logging
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.server.calls import MAPS, Caller

import masthead
import masthead.server
from masthead.api.authentication.v1 import SelfSubjectReview
from masthead.api.core.v1 import ServiceAccount
from masthead.errors import ConfigError
from masthead.server import Server, VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
SECRETS = "/api/v1/namespaces/default/secrets"
PODS = "/api/v1/namespaces/default/pods"
ROBOT = "system:serviceaccount:default:robot"
OLD_TYPE = "kubernetes.io/service-account-token"


@pytest.fixture
def robot(caller: Caller) -> Caller:
    """A server with a service account."""
    assert caller.call("POST", ACCOUNTS, {"metadata": {"name": "robot"}}).code == 201
    return caller


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def request_token(caller: Caller, **spec: object) -> str:
    response = caller.call("POST", f"{ACCOUNTS}/robot/token", {"spec": spec})
    assert response.code == 201, response.json
    return str(response.json["status"]["token"])


def name_of(caller: Caller, token: str) -> str | int:
    """The user of a token, or the code of the refusal."""
    response = caller.call("POST", REVIEWS, {}, headers=bearer(token))
    return str(response.json["status"]["userInfo"]["username"]) if response.code == 201 else response.code


def client_name(client: masthead.Client) -> str | None:
    return client.authentication_v1.self_subject_reviews().create(SelfSubjectReview()).status.user_info.username


def review(caller: Caller, token: str) -> Any:
    return caller.call("POST", TOKEN_REVIEWS, {"spec": {"token": token}}).json["status"]


def test_users_of_a_token_file(tmp_path: Path) -> None:
    file = tmp_path / "tokens.csv"
    file.write_text('secret,jane,7,"devs,testers"\n\nother,ann,\n')
    with masthead.server.run(token_file=file) as server:
        caller = Caller(server.url, "secret")
        found = caller.call("POST", REVIEWS, {}).json["status"]["userInfo"]
        assert found == {"username": "jane", "uid": "7", "groups": ["devs", "testers", "system:authenticated"]}
        assert name_of(caller, "other") == "ann"
        assert name_of(caller, str(server.token)) == "kubernetes-admin"
        caller.close()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("secret,jane\n", "must have at least 3 columns (token, user name, user uid), and line 1 has 2"),
        ("a,b,c\nd\n", "line 2 has 1"),
        ('"secret,jane,7\n', "is no CSV (token, user name, user uid, groups)"),
        ("\udcff\udcff", "is no CSV"),
    ],
    ids=["two columns", "a bad second line", "an open quote", "no UTF-8"],
)
def test_a_bad_token_file_is_reported(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "tokens.csv"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))

    with pytest.raises(ConfigError) as caught, masthead.server.run(token_file=file):
        pass

    assert problem in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_missing_token_file_is_reported(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match=r"cannot read the token file .*No such file"),
        masthead.server.run(token_file=tmp_path / "tokens.csv"),
    ):
        pass


def test_a_repeated_or_empty_token_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "tokens.csv"
    file.write_text("secret,jane,\nsecret,ann,\n,bob,\n")
    with caplog.at_level(logging.WARNING), masthead.server.run(token_file=file) as server:
        caller = Caller(server.url)
        assert name_of(caller, "secret") == "ann"
        caller.close()

    assert "line 2 of the token file" in caplog.text
    assert "line 3 of the token file" in caplog.text
    assert "secret" not in caplog.text.replace(str(file), "")


def test_a_server_without_a_token_still_knows_the_users_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "tokens.csv"
    file.write_text("secret,jane,\n")
    with masthead.server.run(token=None, token_file=file) as server:
        caller = Caller(server.url)
        assert name_of(caller, "secret") == "jane"
        assert name_of(caller, "nonsense") == 401
        assert caller.call("GET", MAPS).code == 200
        caller.close()


@pytest.mark.parametrize(
    ("anonymous", "authorization", "codes"),
    [
        pytest.param(None, "always-allow", (403, 200), id="by default"),
        pytest.param(False, "always-allow", (401, 401), id="refused"),
        pytest.param(True, "always-allow", (200, 200), id="allowed everything"),
        pytest.param(None, "rbac", (403, 200), id="by default, with roles"),
        pytest.param(True, "rbac", (403, 200), id="allowed, with roles"),
        pytest.param(False, "rbac", (401, 401), id="refused, with roles"),
    ],
)
def test_requests_without_credentials(anonymous: bool | None, authorization: str, codes: tuple[int, int]) -> None:
    with masthead.server.run(anonymous=anonymous, authorization=authorization) as server:
        caller = Caller(server.url)
        assert (caller.call("GET", MAPS).code, caller.call("GET", "/version").code) == codes
        caller.close()


def test_a_wrong_type_of_a_setting_is_reported() -> None:
    with (
        pytest.raises(ConfigError, match="anonymous must be a bool, or None"),
        masthead.server.run(anonymous="yes"),  # type: ignore[arg-type]
    ):
        pass


def test_a_token_expires_on_the_clock_of_the_server(server: Server, robot: Caller) -> None:
    token = request_token(robot, expirationSeconds=600)
    assert name_of(robot, token) == ROBOT

    server.advance(600 + 60)
    assert name_of(robot, token) == ROBOT  # a minute of leeway, as on the real server
    server.advance(1)

    assert name_of(robot, token) == 401
    assert review(robot, token)["error"] == "[invalid bearer token, service account token has expired]"


def test_a_token_outlives_the_mark_for_deletion_by_a_minute(server: Server, robot: Caller) -> None:
    pod = {
        "metadata": {"name": "web", "finalizers": ["example.com/a"]},
        "spec": {"serviceAccountName": "robot", "containers": [{"name": "a", "image": "b"}]},
    }
    assert robot.call("POST", PODS, pod).code == 201
    token = request_token(robot, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "web"})
    robot.call("DELETE", f"{PODS}/web?gracePeriodSeconds=0")
    assert name_of(robot, token) == ROBOT

    server.advance(61)

    assert name_of(robot, token) == 401


def test_a_token_in_the_path_is_a_credential_of_its_user(robot: Caller) -> None:
    token = request_token(robot)
    response = robot.call("POST", f"/~{token}{REVIEWS}", {}, headers={"Authorization": ""})

    assert response.json["status"]["userInfo"]["username"] == ROBOT


@pytest.mark.parametrize(
    ("authorization", "who"),
    [
        pytest.param("Bearer {robot}", ROBOT, id="another token"),
        pytest.param("Bearer garbage", 401, id="a wrong token"),
        pytest.param("Basic eDp3cm9uZw==", "system:anonymous", id="a wrong password, as without a path"),
        pytest.param("", "kubernetes-admin", id="no credentials"),
    ],
)
def test_the_authorization_header_wins_over_the_token_in_the_path(
    server: Server, robot: Caller, authorization: str, who: str | int
) -> None:
    header = authorization.format(robot=request_token(robot))
    response = robot.call("GET", f"/~{server.token}{MAPS}", headers={"Authorization": header})

    assert (server.requests[-1].user or response.code) == who


def websocket_headers(robot: Caller) -> dict[str, str]:
    """The headers of a browser, with the token among the protocols."""
    encoded = base64.urlsafe_b64encode(request_token(robot).encode()).rstrip(b"=").decode()
    return {
        "Authorization": "",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Protocol": f"base64url.bearer.authorization.k8s.io.{encoded}, v4.channel.k8s.io",
    }


def test_a_token_among_protocols_wins_over_the_token_in_the_path(server: Server, robot: Caller) -> None:
    headers = websocket_headers(robot)
    robot.call("GET", f"/~{server.token}{MAPS}", headers=headers)

    assert server.requests[-1].user == ROBOT


def test_contexts_that_share_an_address_with_a_token_have_their_own_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trustme", None)  # as if it were not installed
    with masthead.server.run(authorization="rbac") as server:
        document = yaml.safe_load(server.kubeconfig())
        with masthead.Client(kubeconfig=server.kubeconfig()) as admin:
            assert client_name(admin) == "kubernetes-admin"
            accounts = admin.core_v1.service_accounts("default")
            accounts.create(ServiceAccount.new("robot"))
            document["users"][0]["user"] = {"token": accounts.create_token("robot").status.token}
        with masthead.Client(kubeconfig=yaml.safe_dump(document)) as account:
            assert client_name(account) == ROBOT


def test_a_certificate_wins_over_the_token_in_the_path() -> None:
    with masthead.server.run() as server:
        document = yaml.safe_load(server.kubeconfig(server.client_certificate("jane")))
        document["clusters"][0]["cluster"]["server"] += f"/~{server.token}"
        with masthead.Client(kubeconfig=yaml.safe_dump(document)) as client:
            assert client_name(client) == "jane"


def test_a_token_among_protocols_is_not_recorded(server: Server, robot: Caller) -> None:
    headers = websocket_headers(robot)
    assert robot.call("GET", MAPS, headers=headers).code == 200

    recorded = server.requests[-1].headers["sec-websocket-protocol"]
    assert recorded == "base64url.bearer.authorization.k8s.io.REDACTED, v4.channel.k8s.io"


def test_recorded_requests_name_their_users(server: Server, robot: Caller) -> None:
    robot.call("GET", MAPS)
    robot.call("GET", MAPS, headers={"Impersonate-User": "jane"})
    robot.call("GET", MAPS, headers=bearer(request_token(robot)))
    robot.call("GET", MAPS, headers={"Authorization": ""})
    robot.call("GET", MAPS, headers=bearer("nonsense"))

    found = [(seen.user, seen.impersonator) for seen in server.requests if seen.path == MAPS]
    assert found == [
        ("kubernetes-admin", ""),
        ("jane", "kubernetes-admin"),
        (ROBOT, ""),
        ("system:anonymous", ""),
        ("", ""),
    ]


def old_secret(name: str = "old") -> dict[str, Any]:
    annotations = {"kubernetes.io/service-account.name": "robot"}
    return {"metadata": {"name": name, "annotations": annotations}, "type": OLD_TYPE}


def token_in(secret: Any) -> str:
    return base64.b64decode(secret["data"]["token"]).decode()


def test_a_secret_of_the_old_type_gets_a_token_that_authenticates(server: Server, robot: Caller) -> None:
    robot.call("POST", SECRETS, old_secret())
    server.block_until_idle()
    secret = robot.call("GET", f"{SECRETS}/old").json

    assert base64.b64decode(secret["data"]["namespace"]) == b"default"
    uid = robot.call("GET", f"{ACCOUNTS}/robot").json["metadata"]["uid"]
    assert secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"] == uid
    assert name_of(robot, token_in(secret)) == ROBOT
    server.block_until_idle()
    labels = robot.call("GET", f"{SECRETS}/old").json["metadata"]["labels"]
    assert labels == {"kubernetes.io/legacy-token-last-used": "2026-01-01"}


def test_an_old_token_ends_with_its_secret_or_its_content(server: Server, robot: Caller) -> None:
    robot.call("POST", SECRETS, old_secret())
    server.block_until_idle()
    secret = robot.call("GET", f"{SECRETS}/old").json
    token = token_in(secret)

    robot.call("PUT", f"{SECRETS}/old", {**secret, "data": {**secret["data"], "token": "AAAA"}})
    assert review(robot, token)["error"] == "[invalid bearer token, Token does not match server's copy]"
    robot.call("DELETE", f"{SECRETS}/old")

    assert review(robot, token)["error"] == "[invalid bearer token, Token has been invalidated]"
    assert name_of(robot, token) == 401


def test_an_old_token_that_was_marked_invalid_is_refused(server: Server, robot: Caller) -> None:
    marked = old_secret()
    marked["metadata"]["labels"] = {"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}
    robot.call("POST", SECRETS, marked)
    server.block_until_idle()
    token = token_in(robot.call("GET", f"{SECRETS}/old").json)

    assert "has been marked invalid. Use tokens from the TokenRequest API" in review(robot, token)["error"]


def test_an_old_token_of_an_account_that_lists_its_secret_warns(server: Server, robot: Caller) -> None:
    account = robot.call("GET", f"{ACCOUNTS}/robot").json
    robot.call("PUT", f"{ACCOUNTS}/robot", {**account, "secrets": [{"name": "old"}]})
    robot.call("POST", SECRETS, old_secret())
    server.block_until_idle()
    token = token_in(robot.call("GET", f"{SECRETS}/old").json)

    response = robot.call("POST", REVIEWS, {}, headers=bearer(token))

    assert "instead of auto-generated secret-based tokens" in response.headers["warning"]


def test_the_secrets_of_a_deleted_account_are_deleted(server: Server, robot: Caller) -> None:
    robot.call("POST", SECRETS, old_secret())
    server.block_until_idle()

    robot.call("DELETE", f"{ACCOUNTS}/robot")
    server.block_until_idle()

    assert robot.call("GET", f"{SECRETS}/old").code == 404


def test_a_secret_for_a_missing_account_is_deleted(server: Server, caller: Caller) -> None:
    caller.call("POST", SECRETS, old_secret())
    server.block_until_idle()

    assert caller.call("GET", f"{SECRETS}/old").code == 404


def test_a_deleted_secret_leaves_the_list_of_its_account(server: Server, robot: Caller) -> None:
    account = robot.call("GET", f"{ACCOUNTS}/robot").json
    robot.call("PUT", f"{ACCOUNTS}/robot", {**account, "secrets": [{"name": "old"}, {"name": "kept"}]})
    robot.call("POST", SECRETS, old_secret())
    server.block_until_idle()

    robot.call("DELETE", f"{SECRETS}/old")
    server.block_until_idle()

    assert robot.call("GET", f"{ACCOUNTS}/robot").json["secrets"] == [{"name": "kept"}]


def test_the_published_key_verifies_tokens(robot: Caller) -> None:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
    from cryptography.hazmat.primitives.hashes import SHA256

    (key,) = robot.call("GET", "/openid/v1/jwks").json["keys"]
    head, payload, signature = request_token(robot).split(".")
    x, y = (int.from_bytes(decode(key[name]), "big") for name in "xy")
    public = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
    raw = decode(signature)
    wrapped = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))

    public.verify(wrapped, f"{head}.{payload}".encode(), ec.ECDSA(SHA256()))
    assert json.loads(decode(head)) == {"alg": "ES256", "kid": key["kid"]}


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encode(value: object) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@pytest.fixture(scope="module")
def target() -> Iterator[Caller]:
    """One connection to one server for all examples."""
    with masthead.server.run(clock=VirtualClock, bootstrap=False) as running:
        made = Caller(running.url, running.token)
        yield made
        made.close()


HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "alg": st.sampled_from(["none", "ES256", "HS256", "RS256", "", None, 7]),
        "kid": st.one_of(st.text(max_size=8), st.none(), st.integers()),
        "crit": st.lists(st.text(max_size=3), max_size=2),
    },
)
CLAIMS = st.fixed_dictionaries(
    {"iss": st.sampled_from(["https://kubernetes.default.svc", "kubernetes/serviceaccount", "other", "", 7, None])},
    optional={
        "sub": st.sampled_from([ROBOT, "", 7]),
        "aud": st.sampled_from(["https://kubernetes.default.svc", ["https://kubernetes.default.svc"], [], {}, 7]),
        "exp": st.one_of(st.integers(), st.floats(allow_nan=False), st.text(max_size=3)),
        "kubernetes.io": st.sampled_from(
            [{}, [], None, {"namespace": "default", "serviceaccount": {"name": "default"}}]
        ),
    },
)
SIGNATURES = st.one_of(st.binary(max_size=70), st.just(b"x" * 64))
TOKENS = st.one_of(
    st.builds(lambda *parts: ".".join(map(encode, parts)), HEADERS, CLAIMS, SIGNATURES),
    st.builds(lambda *parts: ".".join(parts), *[st.text('aeyJ0_-=.{}[]" \\', max_size=12)] * 3),
    st.text(st.characters(codec="latin-1", exclude_characters="\r\n\0"), min_size=1, max_size=40),
)
DEEP = ".".join((encode(b'{"alg":"ES256"}'), encode(b'{"iss":' + b"[" * 5000 + b"]" * 5000 + b"}"), encode(b"x")))
ISSUER = {"iss": "https://kubernetes.default.svc"}


@pytest.mark.slow
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TOKENS)
@example(DEEP)
@example(".".join((encode({"alg": "none"}), encode(ISSUER), "")))
@example(
    ".".join(
        (
            encode({"alg": "none", "jwk": {}}),
            encode(b'{"iss":"https://kubernetes.default.svc",' + b'"a":' * 1 + b"[" * 2000),
            "",
        )
    )
)
@example(f"{encode({'alg': 'ES256'})}.{encode({**ISSUER, 'x': 'y' * 100_000})}.{encode(b'x' * 64)}")
@example("." * 50_000)
def test_hostile_tokens_never_authenticate(target: Caller, token: str) -> None:
    status = review(target, token)
    assert "authenticated" not in status or status["user"]["username"] == "system:anonymous"
    if len(token) < 8000 and not token.isspace():
        headers = {"Authorization": f"Bearer {token}".encode("latin-1", "replace").decode("latin-1")}
        code = target.call("GET", MAPS, headers=headers).code
        # A text that begins with a space is no token: the request is anonymous. A control character is no HTTP.
        assert code in {400, 401} or (code == 403 and not token.split(" ", maxsplit=1)[0])


def test_without_cryptography_tokens_work_and_no_key_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cryptography", "trustme"):
        monkeypatch.setitem(sys.modules, name, None)
    with masthead.server.run(clock=VirtualClock) as server:
        caller = Caller(server.url, server.token)
        token = caller.call("POST", f"{ACCOUNTS}/default/token", {}).json["status"]["token"]
        assert name_of(caller, token) == "system:serviceaccount:default:default"
        assert name_of(caller, f"{token}A") == 401
        assert caller.call("GET", "/openid/v1/jwks").json == {"keys": []}
        found = caller.call("GET", "/.well-known/openid-configuration").json
        assert found["jwks_uri"] == f"{server.url}/openid/v1/jwks"
        caller.close()


IMPERSONATION = st.dictionaries(
    st.sampled_from(["user", "group", "uid", "extra-a", "extra-acme.io%2fa", "extra-", "extra-%", "x"]).map(
        "Impersonate-{}".format
    ),
    st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=12).map(str.strip),
    max_size=5,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(IMPERSONATION)
def test_any_impersonation_is_allowed_or_refused(target: Caller, headers: dict[str, str]) -> None:
    response = target.call("POST", REVIEWS, {}, headers=headers)

    assert response.code in {201, 400, 403}
    if response.code == 201 and headers.get("Impersonate-user"):
        found = response.json["status"]["userInfo"]["username"]
        assert found.encode() == headers["Impersonate-user"].encode("latin-1").decode("utf-8", "replace").encode()
