"""The ExecCredential protocol."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.auth.plugins import V1

from masthead._auth.execcredential import cluster_info, read_reply, request
from masthead._meta.secret import Secret, SecretValue
from masthead.errors import AuthError

SECRET = "hunter22"


def read(output: bytes) -> object:
    return read_reply(SecretValue(output), api_version=V1, source='exec plugin "x"')


def test_a_request_has_the_clusters_fields_as_the_api_names_them() -> None:
    cluster = cluster_info(
        server="https://example.com",
        tls_server_name="kubernetes",
        insecure=True,
        ca_data="PEM",
        proxy_url="http://proxy",
        disable_compression=True,
        config={"audience": "a"},
    )

    assert json.loads(request(V1, interactive=True, cluster=cluster)) == {
        "kind": "ExecCredential",
        "apiVersion": V1,
        "spec": {
            "interactive": True,
            "cluster": {
                "server": "https://example.com",
                "tls-server-name": "kubernetes",
                "insecure-skip-tls-verify": True,
                "certificate-authority-data": base64.b64encode(b"PEM").decode(),
                "proxy-url": "http://proxy",
                "disable-compression": True,
                "config": {"audience": "a"},
            },
        },
    }


def test_unset_settings_are_not_passed_to_the_plugin() -> None:
    assert cluster_info(server="https://example.com") == {"server": "https://example.com"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T02:00:00+02:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00.123456789Z", datetime(2026, 1, 1, 0, 0, 0, 123457, tzinfo=UTC)),
    ],
)
def test_times_are_read_in_every_form_of_rfc_3339(written: str, meant: datetime) -> None:
    reply = {"apiVersion": V1, "kind": "ExecCredential"}
    status = {"token": "abc", "expirationTimestamp": written}

    issued = read_reply(SecretValue(json.dumps({**reply, "status": status}).encode()), api_version=V1, source="x")

    assert issued.expires_at == meant
    assert issued.token == Secret("abc")
    assert "abc" not in repr(issued)


@given(st.binary(max_size=200))
def test_any_plugin_output_decodes_or_raises(output: bytes) -> None:
    with pytest.raises(AuthError):
        read(output)


odd = st.one_of(
    st.none(),
    st.integers(),
    st.just(SECRET),
    st.just(f"{SECRET} "),
    st.lists(st.just(SECRET), max_size=2),
    st.dictionaries(st.just("k"), st.just(SECRET)),
)
statuses = st.dictionaries(
    st.sampled_from(["token", "clientCertificateData", "clientKeyData", "expirationTimestamp", "more"]), odd
)


@given(
    st.fixed_dictionaries(
        {"apiVersion": st.sampled_from([V1, "v1", ""]), "kind": st.sampled_from(["ExecCredential", ""])},
        optional={"status": st.one_of(odd, statuses)},
    )
)
def test_no_reply_shows_its_secrets(reply: object) -> None:
    try:
        shown = repr(read(json.dumps(reply).encode())).replace(f"certificate='{SECRET}'", "")
    except AuthError as error:
        shown = f"{error!r} {error.__cause__!r}"

    assert SECRET not in shown
