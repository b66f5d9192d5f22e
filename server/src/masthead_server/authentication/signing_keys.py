"""The key that signs service-account tokens.

With the extra ``tls`` it is an elliptic key, whose public half everybody can read from the server. Without, it is a
secret that only this server knows, so that only this server verifies its tokens.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import hmac
import secrets
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Protocol

from masthead.errors import ConfigError
from masthead_server.files import write_private

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    from masthead_server.wire.plain import Plain

__all__ = ["HmacKey", "SigningKey", "SigningKeyFile", "encode_segment"]

_HMAC_PREFIX: Final = "hmac-sha256 "
_HMAC_BYTES: Final = 32
_COORDINATE_BYTES: Final = 32
"""Bytes of a coordinate of the curve P-256."""


class SigningKey(Protocol):
    """Signs tokens and verifies them."""

    algorithm: str
    """The name of the algorithm in the header of a token."""
    key_id: str
    """The name of the key in the header of a token."""

    def sign(self, data: bytes) -> bytes:
        """Return the signature of data."""
        ...

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Whether this key made a signature of data."""
        ...

    def public_key(self) -> Plain | None:
        """Return the public half as a JSON Web Key; None for a shared secret."""
        ...

    def dump(self) -> str:
        """Return the text to store the key as."""
        ...

    def __hash__(self) -> int: ...


class HmacKey:
    """A secret that signs and verifies."""

    algorithm = "HS256"

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self.key_id = encode_segment(hashlib.sha256(b"key id of " + secret).digest())

    def sign(self, data: bytes) -> bytes:
        """Return the signature of data."""
        return hmac.digest(self._secret, data, "sha256")

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Whether this key made a signature of data."""
        # In constant time: the duration must not tell how many bytes are right.
        return hmac.compare_digest(self.sign(data), signature)

    def public_key(self) -> Plain | None:
        """Return None: a shared secret would let every verifier sign, too."""
        return None

    def dump(self) -> str:
        """Return the text to store the key as."""
        return f"{_HMAC_PREFIX}{base64.b64encode(self._secret).decode()}\n"


class EllipticKey:
    """A key of the curve P-256."""

    algorithm = "ES256"

    def __init__(self, key: EllipticCurvePrivateKey) -> None:
        self._key = key
        self.key_id = _key_id(key)

    def sign(self, data: bytes) -> bytes:
        """Return the signature of data: two numbers, without their wrapping in ASN.1."""
        from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
        from cryptography.hazmat.primitives.hashes import SHA256

        numbers = decode_dss_signature(self._key.sign(data, ECDSA(SHA256())))
        return b"".join(number.to_bytes(_COORDINATE_BYTES, "big") for number in numbers)

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Whether this key made a signature of data."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
        from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
        from cryptography.hazmat.primitives.hashes import SHA256

        # A longer number would be accepted otherwise, and a token would have several spellings.
        if len(signature) != 2 * _COORDINATE_BYTES:
            return False
        first, second = signature[:_COORDINATE_BYTES], signature[_COORDINATE_BYTES:]
        wrapped = encode_dss_signature(int.from_bytes(first, "big"), int.from_bytes(second, "big"))
        try:
            self._key.public_key().verify(wrapped, data, ECDSA(SHA256()))
        except InvalidSignature:
            return False
        return True

    def public_key(self) -> Plain | None:
        """Return the public half as a JSON Web Key."""
        numbers = self._key.public_key().public_numbers()
        point = (encode_segment(number.to_bytes(_COORDINATE_BYTES, "big")) for number in (numbers.x, numbers.y))
        head = {"use": "sig", "kty": "EC", "kid": self.key_id, "crv": "P-256", "alg": self.algorithm}
        return {**head, **dict(zip("xy", point, strict=True))}

    def dump(self) -> str:
        """Return the text to store the key as."""
        return _to_pem(self._key)


class RsaKey:
    """An RSA key, which a user has put in the place of the server's own."""

    algorithm = "RS256"

    def __init__(self, key: RSAPrivateKey) -> None:
        self._key = key
        self.key_id = _key_id(key)

    def sign(self, data: bytes) -> bytes:
        """Return the signature of data."""
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.hashes import SHA256

        return self._key.sign(data, PKCS1v15(), SHA256())

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Whether this key made a signature of data."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.hashes import SHA256

        try:
            self._key.public_key().verify(signature, data, PKCS1v15(), SHA256())
        except InvalidSignature:
            return False
        return True

    def public_key(self) -> Plain | None:
        """Return the public half as a JSON Web Key."""
        numbers = self._key.public_key().public_numbers()
        head = {"use": "sig", "kty": "RSA", "kid": self.key_id, "alg": self.algorithm}
        parts = {"n": numbers.n, "e": numbers.e}
        return {
            **head,
            **{
                name: encode_segment(number.to_bytes((number.bit_length() + 7) // 8, "big"))
                for name, number in parts.items()
            },
        }

    def dump(self) -> str:
        """Return the text to store the key as."""
        return _to_pem(self._key)


class SigningKeyFile:
    """The signing key of a server, made when it is first needed.

    Args:
        file: The file of the key, so that tokens survive a restart; None to keep it in memory.
        key: The key of an earlier server, if it is known.

    Raises:
        ConfigError: If the file exists, and holds no key.
    """

    def __init__(self, file: Path | None = None, key: SigningKey | None = None) -> None:
        self._file = file
        self._stored = _load(file) if file is not None and file.exists() else key

    @property
    def known_key(self) -> SigningKey | None:
        """The key, if it was needed before."""
        return self.__dict__.get("key") or self._stored

    @functools.cached_property
    def key(self) -> SigningKey:
        """The key.

        Raises:
            ConfigError: If it cannot be stored.
        """
        if self._stored is not None:
            return self._stored
        made = _generate()
        if self._file is not None:
            try:
                write_private(self._file, made.dump())
            except OSError as error:
                problem = f"cannot keep the key of service-account tokens in {self._file}"
                raise ConfigError(f"{problem}: {error.strerror}") from None
        return made


def encode_segment(data: bytes) -> str:
    """Encode bytes as a part of a token: base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _generate() -> SigningKey:
    if find_spec("cryptography") is None:
        return HmacKey(secrets.token_bytes(_HMAC_BYTES))
    from cryptography.hazmat.primitives.asymmetric import ec

    # An RSA key would take a hundred times as long to make and to sign with.
    return EllipticKey(ec.generate_private_key(ec.SECP256R1()))


def _load(file: Path) -> SigningKey:
    """Load a key.

    Raises:
        ConfigError: If the file holds no key, or if the key needs the extra ``tls``.
    """
    try:
        text = file.read_text(encoding="ascii")
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the key of service-account tokens {file}: {error}") from None
    try:
        key = _parse(text)
    except ImportError:
        raise ConfigError(f"the key in {file} needs cryptography: pip install 'masthead-k8s[tls]'") from None
    if key is None:
        problem = f"{file} holds no key for service-account tokens"
        raise ConfigError(f"{problem}; delete it, and a new one is made, which makes older tokens invalid")
    return key


def _parse(text: str) -> SigningKey | None:
    if text.startswith(_HMAC_PREFIX):
        try:
            secret = base64.b64decode(text.removeprefix(_HMAC_PREFIX).strip(), validate=True)
        except ValueError:
            return None
        return HmacKey(secret) if len(secret) == _HMAC_BYTES else None
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    if isinstance(key, RSAPrivateKey):
        return RsaKey(key)
    if isinstance(key, EllipticCurvePrivateKey) and isinstance(key.curve, SECP256R1):
        return EllipticKey(key)
    return None


def _key_id(key: EllipticCurvePrivateKey | RSAPrivateKey) -> str:
    """Derive the name of a key from its public half, as kube-apiserver does."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return encode_segment(hashlib.sha256(public).digest())


def _to_pem(key: EllipticCurvePrivateKey | RSAPrivateKey) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
