"""What the facts mean that ``doctor`` gathers."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead import Config
from masthead._cli import diagnosis
from masthead._cli.certificates import expiry_of_der, expiry_of_pem
from masthead._cli.doctor_credentials import check_credentials

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("what", "left", "mark", "said"),
    [
        ("token", timedelta(hours=1), "ok", "token expires in 60m"),
        ("token", timedelta(hours=-1), "fail", "token expired 60m ago"),
        ("client certificate", timedelta(days=300), "ok", "expires in 300d"),
        ("client certificate", timedelta(days=365 * 1000), "ok", "does not expire"),
        ("client certificate", timedelta(days=3), "warn", "expires in 3d"),
        ("client certificate", timedelta(0), "fail", "expired"),
    ],
)
def test_credentials_expire(what: str, left: timedelta, mark: str, said: str) -> None:
    found = diagnosis.judge_expiry("credentials", what, NOW + left, NOW, renewal="log in")

    assert (found.mark, found.hint) == (mark, "" if mark == "ok" else "log in")
    assert said in found.line


def test_a_credential_may_not_say_when_it_expires() -> None:
    assert diagnosis.judge_expiry("credentials", "token", None, NOW, renewal="").mark == "ok"


@pytest.mark.parametrize(
    ("skew", "mark", "said"),
    [
        (0, "ok", "agree"),
        (-1, "ok", "agree"),
        (60, "warn", "the server is 59s ahead"),
        (-60, "warn", "this machine is 59s ahead"),
        (3600, "fail", "the server is 59m ahead"),
    ],
)
def test_clocks_are_compared(skew: int, mark: str, said: str) -> None:
    found = diagnosis.judge_clock(NOW + timedelta(seconds=skew), NOW, NOW + timedelta(seconds=1))

    assert found.mark == mark
    assert said in found.line


@given(st.floats(0, 0.999), st.floats(0, 60), st.floats(0, 60))
def test_a_slow_request_is_no_skew(fraction: float, before: float, after: float) -> None:
    moment = NOW + timedelta(seconds=before + fraction)
    header = moment.replace(microsecond=0)  # whole seconds
    found = diagnosis.judge_clock(header, NOW, moment + timedelta(seconds=after))

    assert found.facts["skewSeconds"] == 0


def test_a_server_without_a_date_is_skipped() -> None:
    assert diagnosis.judge_clock(None, NOW, NOW).mark == "skip"


@pytest.mark.parametrize(
    ("number", "mark", "said"),
    [
        ((1, 36), "ok", "types are of 1.36"),
        ((1, 35), "ok", "1 minor version older"),
        ((1, 38), "ok", "2 minor versions newer"),
        ((1, 29), "warn", "much older"),
        ((1, 40), "warn", "newer"),
        ((2, 0), "warn", "newer"),
    ],
)
def test_versions_differ(number: tuple[int, int], mark: str, said: str) -> None:
    found = diagnosis.judge_version(f"v{number[0]}.{number[1]}.0", number)

    assert found.mark == mark
    assert said in found.line


def test_the_supported_versions_are_those_of_the_documentation() -> None:
    from pathlib import Path

    text = (Path(__file__).parents[3] / "docs" / "versions.md").read_text("utf-8")

    assert f"Kubernetes **{diagnosis.TESTED[0]}.{diagnosis.TESTED[1]}**" in text
    assert f"| older, {diagnosis.OLDEST[0]}.{diagnosis.OLDEST[1]} to " in text


def test_latency_throttling_access_and_watches_are_judged() -> None:
    judged = {
        diagnosis.judge_latency([0.01, 0.02, 9.0]).mark: "ok",
        diagnosis.judge_latency([0.9, 0.8, 1.0]).mark: "warn",
        diagnosis.judge_latency([9, 8, 7]).mark: "fail",
    }
    assert all(mark == wanted for mark, wanted in judged.items())
    assert diagnosis.judge_throttling(0, 10, 10).mark == "ok"
    assert "3 of 10" in diagnosis.judge_throttling(3, 10, 0).line
    assert diagnosis.judge_access({"get pods": True}, "shop").mark == "ok"
    some = diagnosis.judge_access({"get pods": True, "list secrets": False}, "shop")
    assert (some.mark, some.line) == ("warn", "not allowed in shop: list secrets")
    assert diagnosis.judge_access({"get pods": False}, "shop").mark == "fail"
    assert diagnosis.judge_watch(0.1, "").mark == "ok"
    assert "nothing came" in diagnosis.judge_watch(None, "").line
    assert diagnosis.judge_watch(None, "forbidden").line == "forbidden"


def jwt(**claims: object) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{body}.c2ln"


def marks(config: Config) -> list[tuple[str, str]]:
    return [(check_credential.mark, check_credential.line) for check_credential in check_credentials(config, NOW)]


def test_credentials_of_all_kinds_are_found(tmp_path: Path) -> None:
    def config(**more: object) -> Config:
        return Config(server="https://10.0.0.1:6443", **more)  # type: ignore[arg-type]

    hour = NOW.timestamp() + 3600
    (tmp_path / "token").write_text(jwt(exp=hour), "utf-8")
    assert marks(config()) == [("warn", "the configuration has none")]
    assert marks(config(token=jwt(exp=hour))) == [("ok", "token expires in 60m")]
    assert marks(config(token=jwt(exp=hour - 7200))) == [("fail", "token expired 60m ago")]
    assert "not a JSON Web Token" in marks(config(token="opaque"))[0][1]
    assert marks(config(token_file=tmp_path / "token"))[0] == (
        "ok",
        f"token {tmp_path / 'token'} expires in 60m",
    )
    assert marks(config(token_file=tmp_path / "none"))[0][0] == "fail"
    assert marks(config(username="u", password="p"))[0][0] == "warn"


def test_no_finding_shows_a_secret() -> None:
    secret = "s3cr3t-t0k3n"
    found = check_credentials(Config(server="https://10.0.0.1", token=secret), NOW)

    assert secret not in repr(found)


def test_the_expiry_of_a_certificate_is_read() -> None:
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    for year in (2030, 2049, 2050, 9999):
        end = datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(1)
            .not_valid_before(NOW)
            .not_valid_after(end)
            .sign(key, hashes.SHA256())
        )
        pem = made.public_bytes(serialization.Encoding.PEM).decode()
        assert expiry_of_pem(pem) == end


@given(st.binary(max_size=64))
def test_what_is_not_a_certificate_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever is wrong with it
        expiry_of_der(data)
    with pytest.raises(ValueError):  # noqa: PT011
        expiry_of_pem("no certificate")
