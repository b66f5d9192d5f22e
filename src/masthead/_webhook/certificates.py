"""Certificates of webhooks: authorities, and server certificates that they issue."""

from __future__ import annotations

import ipaddress
import ssl
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from masthead._auth.credentials import Certificate
from masthead._auth.pem import load_certificate
from masthead._meta.secret import Secret
from masthead._sansio.randomness import current_source
from masthead.errors import AuthError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

__all__ = [
    "Issued",
    "TrustedAuthority",
    "check_installed",
    "has_issued",
    "is_key_of",
    "is_signing_key_of",
    "is_well_formed",
    "issue_certificate",
    "make_authority",
    "parse_bundle",
    "parse_certificate",
    "tls_context",
]

_AUTHORITY_NAME: Final = "masthead webhooks"
_END_OF_CERTIFICATE: Final = b"-----END CERTIFICATE-----"
_SERIAL_BITS: Final = 158
"""RFC 5280 allows 20 bytes, without the sign."""


@dataclass(frozen=True, slots=True)
class TrustedAuthority:
    """A certificate authority in a bundle.

    Attributes:
        pem: The certificate.
        created: The time of its creation.
        expires: The end of its validity.
        key_id: Identifies it in the certificates that it has issued.
    """

    pem: bytes
    created: datetime
    expires: datetime
    key_id: bytes


@dataclass(frozen=True, slots=True)
class Issued:
    """A server certificate.

    Attributes:
        created: The time of its creation.
        expires: The end of its validity.
        names: The names and addresses of the server.
        issuer_id: The `TrustedAuthority.key_id` of its issuer.
    """

    created: datetime
    expires: datetime
    names: frozenset[str]
    issuer_id: bytes


def make_authority(now: datetime, validity: timedelta, backdate: timedelta) -> tuple[bytes, bytes]:
    """Create an authority; return its certificate and its private key, in PEM.

    Args:
        now: The time of its creation.
        validity: Its lifetime.
        backdate: The time before the creation at which its validity begins.

    Raises:
        ConfigError: If cryptography is not installed.
    """
    from cryptography import x509

    key = _new_key()
    # Two authorities in one bundle need different subjects, or verifiers would confuse them.
    serial = _new_serial()
    name = _name(f"{_AUTHORITY_NAME} {serial:x}"[:64])
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    made = (
        _builder(name, name, serial, key, _period(now, validity, backdate))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
    )
    return _to_pem(_sign(made, key)), _key_to_pem(key)


def issue_certificate(
    authority: bytes,
    authority_key: bytes,
    names: Iterable[str],
    now: datetime,
    validity: timedelta,
    backdate: timedelta,
) -> tuple[bytes, bytes]:
    """Issue a server certificate; return it and its private key, in PEM.

    Args:
        authority: The certificate of the authority.
        authority_key: The private key of the authority.
        names: The names and addresses of the server.
        now: The time of its creation.
        validity: Its lifetime, which ends with that of the authority at the latest.
        backdate: The time before the creation at which its validity begins.

    Raises:
        ConfigError: If cryptography is not installed, or the authority cannot be used.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509.oid import ExtendedKeyUsageOID

    try:
        issuer = x509.load_pem_x509_certificate(authority)
        signer = load_pem_private_key(authority_key, None)
    except ValueError as error:
        raise ConfigError(f"the authority of the webhooks cannot be used: {error}") from None
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise ConfigError("the authority of the webhooks has a private key of an unknown type")
    ordered = sorted(set(names))
    key = _new_key()
    period = _period(now, min(validity, issuer.not_valid_after_utc - now), backdate)
    made = (
        _builder(_name(ordered[0][:64]), issuer.subject, _new_serial(), key, period)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in ordered]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(
                issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
            ),
            critical=False,
        )
    )
    return _to_pem(_sign(made, signer)), _key_to_pem(key)


def parse_bundle(pem: bytes, backdate: timedelta) -> list[TrustedAuthority]:
    """Return the authorities of a bundle, without malformed certificates and those that may not issue others.

    Args:
        pem: The certificates.
        backdate: The time between the beginning of their validity and their creation.
    """
    blocks = pem.split(_END_OF_CERTIFICATE)[:-1]
    certificates = [certificate for block in blocks for certificate in _load_all(block + _END_OF_CERTIFICATE)]
    return [
        TrustedAuthority(
            _to_pem(certificate),
            certificate.not_valid_before_utc + backdate,
            certificate.not_valid_after_utc,
            key_id,
        )
        for certificate in certificates
        if (key_id := _authority_key_id(certificate)) is not None
    ]


def parse_certificate(pem: bytes, backdate: timedelta) -> Issued | None:
    """Describe a server certificate; None if it is malformed.

    Args:
        pem: The certificate.
        backdate: The time between the beginning of its validity and its creation.
    """
    from cryptography import x509

    found = _load_all(pem)
    if not found:
        return None
    certificate = found[0]
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        issuer = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        return None
    texts = [*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))]
    return Issued(
        certificate.not_valid_before_utc + backdate, certificate.not_valid_after_utc, frozenset(texts), issuer or b""
    )


def is_well_formed(bundle: bytes) -> bool:
    """Whether all certificates of a bundle can be read; an API server refuses the whole bundle otherwise."""
    return bool(_load_all(bundle))


def is_key_of(key: bytes, certificate: bytes) -> bool:
    """Whether a private key belongs to a certificate; False if one of them is malformed.

    Args:
        key: The private key, in PEM.
        certificate: The certificate, in PEM.
    """
    found, private = _load_all(certificate), _load_key(key)
    # TLS contexts take text.
    is_text = key.isascii() and certificate.isascii()
    return is_text and bool(found) and private is not None and _is_pair(private, found[0])


def is_signing_key_of(key: bytes, certificate: bytes) -> bool:
    """Whether a private key can issue certificates in the name of an authority; False if one of them is malformed.

    Args:
        key: The private key, in PEM.
        certificate: The certificate of the authority, in PEM.
    """
    from cryptography.hazmat.primitives.asymmetric import ec

    return isinstance(_load_key(key), ec.EllipticCurvePrivateKey) and is_key_of(key, certificate)


def has_issued(authority: bytes, certificate: bytes) -> bool:
    """Whether an authority has signed a certificate; False if one of them is malformed.

    Args:
        authority: The certificate of the authority, in PEM.
        certificate: The certificate, in PEM.
    """
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    issuers, found = _load_all(authority), _load_all(certificate)
    if not issuers or not found:
        return False
    try:
        found[0].verify_directly_issued_by(issuers[0])
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def tls_context(certificate: bytes, key: bytes) -> ssl.SSLContext:
    """Return the TLS context of a server.

    Raises:
        ConfigError: If certificate and key are malformed or do not belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        load_certificate(context, Certificate(certificate.decode(), Secret(key.decode())), "the webhooks")
    except (AuthError, UnicodeDecodeError) as error:
        problem = str(error).removeprefix("the client certificate from the webhooks ")
        raise ConfigError(f"the certificate of the webhooks {problem}") from None
    return context


def check_installed() -> None:
    """Check that certificates can be issued.

    Raises:
        ConfigError: If cryptography is not installed.
    """
    if find_spec("cryptography") is None:
        raise ConfigError(
            "certificates of webhooks need cryptography: pip install 'masthead-k8s[webhooks]', or supply files with "
            "webhook_cert_dir"
        )


def _period(now: datetime, validity: timedelta, backdate: timedelta) -> tuple[datetime, datetime]:
    # Certificates have whole seconds.
    created = now.astimezone(UTC).replace(microsecond=0)
    return created - backdate, created + validity


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    serial: int,
    key: EllipticCurvePrivateKey,
    period: tuple[datetime, datetime],
) -> x509.CertificateBuilder:
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(period[0])
        .not_valid_after(period[1])
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _sign(builder: x509.CertificateBuilder, key: EllipticCurvePrivateKey) -> x509.Certificate:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes

    if current_source() is not None:
        # Older versions of cryptography and OpenSSL can sign with random numbers of their own only.
        with suppress(TypeError, UnsupportedAlgorithm):
            return builder.sign(key, hashes.SHA256(), ecdsa_deterministic=True)
    return builder.sign(key, hashes.SHA256())


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    source = current_source()
    if source is None:
        return ec.generate_private_key(ec.SECP256R1())
    # Any positive number below the order of the curve is a key.
    return ec.derive_private_key(source.getrandbits(255) + 1, ec.SECP256R1())


def _new_serial() -> int:
    from cryptography import x509

    source = current_source()
    return x509.random_serial_number() if source is None else source.getrandbits(_SERIAL_BITS) + 1


def _name(common_name: str) -> x509.Name:
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])


def _general_name(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _load_all(pem: bytes) -> Sequence[x509.Certificate]:
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError:
        return []


def _load_key(pem: bytes) -> PrivateKeyTypes | None:
    """Parse a private key; None if it is malformed, encrypted, or of an unknown type."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        return load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None


def _is_pair(key: PrivateKeyTypes, certificate: x509.Certificate) -> bool:
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return key.public_key() == certificate.public_key()
    except (ValueError, UnsupportedAlgorithm):
        return False


def _authority_key_id(certificate: x509.Certificate) -> bytes | None:
    """Return the identifier of an authority's key; None for a certificate that may not issue others."""
    from cryptography import x509

    try:
        extensions = certificate.extensions
        if not extensions.get_extension_for_class(x509.BasicConstraints).value.ca:
            return None
        return extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        return None


def _to_pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _key_to_pem(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
