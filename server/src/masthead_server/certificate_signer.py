"""Certificates that an authority signs: for clients, and for certificate signing requests."""

from __future__ import annotations

import functools
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from cryptography.hazmat.primitives.asymmetric.types import (
        CertificateIssuerPrivateKeyTypes,
        CertificatePublicKeyTypes,
    )
    from cryptography.x509 import Certificate, CertificateSigningRequest, KeyUsage, Name, SubjectAlternativeName

__all__ = ["UID_OID", "CertificateSigner", "ClientCertificate"]

UID_OID: Final = "1.3.6.1.4.1.57683.2"
"""The attribute of a subject that has the uid of a user, as kube-apiserver reads it."""
_BACKDATE: Final = timedelta(minutes=5)
"""How far certificates begin in the past, for clients whose clocks are slow."""
_SHORT: Final = timedelta(hours=8)
"""A lifetime from which on the time in the past counts."""
_KEY_USAGES: Final = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
}
_EXTENDED_USAGES: Final = {
    "any": "2.5.29.37.0",
    "server auth": "1.3.6.1.5.5.7.3.1",
    "client auth": "1.3.6.1.5.5.7.3.2",
    "code signing": "1.3.6.1.5.5.7.3.3",
    "email protection": "1.3.6.1.5.5.7.3.4",
    "s/mime": "1.3.6.1.5.5.7.3.4",
    "ipsec end system": "1.3.6.1.5.5.7.3.5",
    "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
    "ipsec user": "1.3.6.1.5.5.7.3.7",
    "timestamping": "1.3.6.1.5.5.7.3.8",
    "ocsp signing": "1.3.6.1.5.5.7.3.9",
    "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
    "netscape sgc": "2.16.840.1.113730.4.1",
}
_SUBJECT_OIDS: Final = frozenset({"2.5.4.3", "2.5.4.5", "2.5.4.6", "2.5.4.7", "2.5.4.8", "2.5.4.9", "2.5.4.10",
                                  "2.5.4.11", "2.5.4.17"})  # fmt: skip
"""The attributes of a subject that Go writes; it drops all others of a request."""


@set_module("masthead.server")
class ClientCertificate(NamedTuple):
    """A certificate that identifies a user, and its key, both in PEM."""

    certificate: str
    key: str


class CertificateSigner:
    """Signs certificates with the key of an authority.

    Args:
        authority: The certificate of the authority, in PEM.
        key: Its private key, in PEM.
    """

    def __init__(self, authority: bytes, key: bytes) -> None:
        self._authority_pem = authority
        self._key_pem = key

    def issue_client(
        self, user: str, groups: Sequence[str], uid: str, now: datetime, lifetime: timedelta
    ) -> ClientCertificate:
        """Return a new certificate of a user, and its key.

        Raises:
            ValueError: If a name is empty or too long for a certificate.
        """
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        attributes = [x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, group, _validate=False) for group in groups]
        attributes.append(x509.NameAttribute(x509.NameOID.COMMON_NAME, user, _validate=False))
        if uid:
            attributes.append(x509.NameAttribute(x509.ObjectIdentifier(UID_OID), uid))
        key = ec.generate_private_key(ec.SECP256R1())
        usages = ("client auth", "digital signature")
        certificate = self._sign(x509.Name(attributes), key.public_key(), usages, None, now, lifetime)
        written = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return ClientCertificate(certificate, written.decode())

    def sign_request(
        self, request: CertificateSigningRequest, usages: Collection[str], now: datetime, lifetime: timedelta
    ) -> str:
        """Return the certificate for a request, in PEM.

        Args:
            request: The request.
            usages: What the certificate is for, in the words of a CertificateSigningRequest.
            now: The time.
            lifetime: How long the certificate is valid.
        """
        from cryptography import x509

        subject = x509.Name(
            [attribute for attribute in request.subject if attribute.oid.dotted_string in _SUBJECT_OIDS]
        )
        try:
            names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            names = None
        return self._sign(subject, request.public_key(), usages, names, now, lifetime)

    def _sign(
        self,
        subject: Name,
        public_key: CertificatePublicKeyTypes,
        usages: Collection[str],
        names: SubjectAlternativeName | None,
        now: datetime,
        lifetime: timedelta,
    ) -> str:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.serialization import Encoding

        ends = now + (lifetime if lifetime < _SHORT else lifetime - _BACKDATE)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._authority.subject)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BACKDATE)
            .not_valid_after(min(ends, self._authority.not_valid_after_utc))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        )
        if wanted := {_KEY_USAGES[usage] for usage in usages if usage in _KEY_USAGES}:
            builder = builder.add_extension(_key_usage(wanted), critical=True)
        if extended := dict.fromkeys(_EXTENDED_USAGES[usage] for usage in usages if usage in _EXTENDED_USAGES):
            identifiers = x509.ExtendedKeyUsage([x509.ObjectIdentifier(oid) for oid in extended])
            builder = builder.add_extension(identifiers, critical=False)
        if names is not None:
            builder = builder.add_extension(names, critical=not list(subject))
        return builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()

    @functools.cached_property
    def _authority(self) -> Certificate:
        from cryptography import x509

        return x509.load_pem_x509_certificate(self._authority_pem)

    @functools.cached_property
    def _key(self) -> CertificateIssuerPrivateKeyTypes:
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        key = load_pem_private_key(self._key_pem, password=None)
        assert isinstance(key, EllipticCurvePrivateKey | RSAPrivateKey), "trustme makes no other keys"
        return key


def _key_usage(wanted: Iterable[str]) -> KeyUsage:
    from cryptography.x509 import KeyUsage

    chosen = {name: name in wanted for name in _KEY_USAGES.values()}
    return KeyUsage(**chosen, encipher_only=False, decipher_only=False)
