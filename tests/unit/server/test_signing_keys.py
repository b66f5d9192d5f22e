"""The key of service-account tokens: what it signs, and where it is kept."""

from __future__ import annotations

import contextlib
import stat
import sys
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st

from masthead.errors import ConfigError
from masthead_server.authentication.jwt import InvalidTokenError, read_issuer, sign_claims, verify
from masthead_server.authentication.signing_keys import HmacKey, SigningKey, SigningKeyFile

if TYPE_CHECKING:
    from pathlib import Path

CLAIMS = st.fixed_dictionaries(
    {"iss": st.text(min_size=1, max_size=20), "sub": st.text(max_size=20), "aud": st.lists(st.text(max_size=9))},
    optional={"exp": st.integers(0, 2**40), "jti": st.text(max_size=9)},
)
ELLIPTIC = SigningKeyFile().key
SECRET = HmacKey(b"x" * 32)


def pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@pytest.mark.parametrize("key", [ELLIPTIC, SECRET], ids=["elliptic", "secret"])
@given(CLAIMS)
def test_a_token_has_the_claims_that_were_signed(key: SigningKey, claims: dict[str, object]) -> None:
    token = sign_claims(claims, key)
    assert read_issuer(token) == claims["iss"]

    found = verify(token, key)

    assert found is not None
    assert (found.iss, found.sub, list(found.audiences)) == (claims["iss"], claims["sub"], claims["aud"])
    assert (found.exp, found.jti) == (claims.get("exp"), claims.get("jti", ""))


@pytest.mark.parametrize("key", [ELLIPTIC, SECRET], ids=["elliptic", "secret"])
@given(CLAIMS, st.data())
def test_a_token_with_one_other_character_is_not_signed(
    key: SigningKey, claims: dict[str, object], data: st.DataObject
) -> None:
    token = sign_claims(claims, key)
    body, _, signature = token.rpartition(".")
    # The last character of a part may have bits that mean nothing.
    place = data.draw(st.integers(0, len(body) - 2).filter(lambda index: body[index : index + 2].isalnum()))
    other = data.draw(st.sampled_from([character for character in "abcXYZ019" if character != body[place]]))
    changed = f"{body[:place]}{other}{body[place + 1 :]}.{signature}"

    with contextlib.suppress(InvalidTokenError):
        assert verify(changed, key) is None


def test_keys_do_not_verify_the_tokens_of_each_other() -> None:
    other = SigningKeyFile().key
    with pytest.raises(InvalidTokenError, match="no keys found"):
        verify(sign_claims({"iss": "a"}, other), ELLIPTIC)


def test_a_public_key_is_no_secret_of_the_old_algorithm() -> None:
    # The attack of signing with the published key as if it were a shared secret.
    public = str(ELLIPTIC.public_key()).encode()
    forged = HmacKey(public)
    forged.key_id = ELLIPTIC.key_id
    with pytest.raises(InvalidTokenError, match="cryptographic primitive"):
        verify(sign_claims({"iss": "a"}, forged), ELLIPTIC)


def test_a_stored_key_is_private_and_found_again(tmp_path: Path) -> None:
    file = tmp_path / "key"
    first = SigningKeyFile(file)
    assert not file.exists()  # until it is needed
    token = sign_claims({"iss": "a"}, first.key)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert verify(token, SigningKeyFile(file).key) is not None


def test_an_rsa_key_may_take_the_place_of_the_key(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(pem(rsa.generate_private_key(65537, 2048)))
    key = SigningKeyFile(file).key

    assert key.algorithm == "RS256"
    assert verify(sign_claims({"iss": "a"}, key), key) is not None
    public = key.public_key()
    assert public is not None
    assert (public["kty"], public["alg"], public["e"]) == ("RSA", "RS256", "AQAB")
    with pytest.raises(InvalidTokenError):
        verify(f"{sign_claims({'iss': 'a'}, key)[:-8]}AAAAAAAA", key)


def test_without_cryptography_the_key_is_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    file = tmp_path / "key"
    key = SigningKeyFile(file).key

    assert (key.algorithm, key.public_key()) == ("HS256", None)
    assert verify(sign_claims({"iss": "a"}, key), SigningKeyFile(file).key) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "hmac-sha256 ???",
        "hmac-sha256 AAAA",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    ],
    ids=["empty", "nonsense", "no base64", "too short", "no key"],
)
def test_a_file_without_a_key_is_reported(tmp_path: Path, text: str) -> None:
    file = tmp_path / "key"
    file.write_text(text)

    with pytest.raises(ConfigError, match="holds no key for service-account tokens; delete it"):
        SigningKeyFile(file)


def test_a_key_of_another_curve_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(pem(ec.generate_private_key(ec.SECP384R1())))

    with pytest.raises(ConfigError, match="holds no key for service-account tokens"):
        SigningKeyFile(file)


def test_a_stored_key_that_needs_cryptography_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    assert SigningKeyFile(file).key.algorithm == "ES256"
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)

    with pytest.raises(ConfigError, match=r"needs cryptography: pip install 'masthead-k8s\[tls\]'"):
        SigningKeyFile(file)
