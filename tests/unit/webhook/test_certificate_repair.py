"""Damaged sets of certificates are repaired, and healthy ones are left alone."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.x509 import DNSName, load_pem_x509_certificate, load_pem_x509_certificates
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.webhook.test_rotation import NAMES, POLICY, START

from masthead._meta.patch import Patch
from masthead._webhook.certificate_sources import SecretCertificates
from masthead._webhook.certificates import issue_certificate, make_authority, tls_context
from masthead._webhook.rotation import CertificateSet, next_change, rotate
from masthead.api.core.v1 import Secret
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

DAMAGED_BLOCK = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
DUE = POLICY.certificate_validity * (1 - POLICY.renew_before)


def is_accepted(presented: CertificateSet, bundle: bytes, now: datetime) -> bool:
    """Whether a server can present a certificate, and a client with a bundle accepts it."""
    tls_context(presented.certificate, presented.key)
    verifier = PolicyBuilder().store(Store(load_pem_x509_certificates(bundle))).time(now)
    try:
        verifier.build_server_verifier(DNSName(*NAMES)).verify(load_pem_x509_certificate(presented.certificate), [])
    except VerificationError:
        return False
    return True


@cache
def make_set(label: str, created: datetime = START) -> CertificateSet:  # noqa: ARG001 - a set for every label
    return rotate(CertificateSet(), NAMES, created, POLICY)


@cache
def rsa_key() -> bytes:
    key = rsa.generate_private_key(65537, 2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@cache
def encrypted_key() -> bytes:
    key = rsa.generate_private_key(65537, 2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"password"))


def issue_elsewhere(current: CertificateSet) -> CertificateSet:
    foreign = make_set("foreign")
    return replace(current, certificate=foreign.certificate, key=foreign.key)


def imitate_issuer(current: CertificateSet) -> CertificateSet:
    """Sign a certificate in the name of the authority with another key."""
    key = make_set("foreign").authority_key
    authority = make_set("first").bundle
    period = (START, POLICY.certificate_validity, POLICY.backdate)
    certificate, own = issue_certificate(authority, key, NAMES, *period)
    return replace(current, certificate=certificate, key=own)


def make_in_the_future(current: CertificateSet) -> CertificateSet:
    future = make_set("future", START + timedelta(days=700))
    return replace(future, bundle=current.bundle + future.bundle)


def renew_in_the_future(current: CertificateSet) -> CertificateSet:
    first = make_set("first")
    later = START + timedelta(hours=50)
    period = (later, POLICY.certificate_validity, POLICY.backdate)
    certificate, key = issue_certificate(first.bundle, first.authority_key, NAMES, *period)
    return replace(current, certificate=certificate, key=key)


def find_foreign(part: str) -> bytes:
    return make_set("foreign").to_data()[part]


def put(part: str, find: Callable[[], bytes]) -> Callable[[CertificateSet], CertificateSet]:
    return lambda current: CertificateSet.from_data({**current.to_data(), part: find()})


PARTS = tuple(CertificateSet().to_data())
DAMAGES: dict[str, Callable[[CertificateSet], CertificateSet]] = {
    **{f"empty {part}": put(part, lambda: b"") for part in PARTS},
    **{f"garbage {part}": put(part, lambda: b"rubbish\xff") for part in PARTS},
    **{f"foreign {part}": put(part, partial(find_foreign, part)) for part in PARTS},
    "RSA authority key": lambda current: replace(current, authority_key=rsa_key()),
    "encrypted key": lambda current: replace(current, key=encrypted_key()),
    "key after bytes that are no text": lambda current: replace(current, key=b"\xff\n" + current.key),
    "certificate after bytes that are no text": lambda current: replace(
        current, certificate=b"\xff\n" + current.certificate
    ),
    "swapped keys": lambda current: replace(current, key=current.authority_key, authority_key=current.key),
    "authority appended": lambda current: replace(current, bundle=current.bundle + make_set("foreign").bundle),
    "authority prepended": lambda current: replace(current, bundle=make_set("foreign").bundle + current.bundle),
    "authority repeated": lambda current: replace(current, bundle=current.bundle * 3),
    "block appended": lambda current: replace(current, bundle=current.bundle + DAMAGED_BLOCK),
    "server certificate as authority": lambda current: replace(
        current, bundle=current.bundle + current.certificate, authority_key=current.key
    ),
    "certificate of another authority": issue_elsewhere,
    "imitated issuer": imitate_issuer,
    "set of the future": make_in_the_future,
    "certificate of the future": renew_in_the_future,
}
HOURS = st.integers(0, 120).map(lambda hours: timedelta(hours=hours))


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("hours", [0, 8, 80])
def test_damaged_sets_are_repaired(damage: str, hours: int) -> None:
    now = START + timedelta(hours=hours)
    damaged = DAMAGES[damage](make_set("first"))
    repaired = rotate(damaged, NAMES, now, POLICY)
    assert is_accepted(repaired, repaired.bundle, now)


@settings(deadline=None)
@given(st.lists(st.sampled_from(sorted(DAMAGES)), min_size=1, max_size=3), HOURS, st.lists(HOURS, max_size=3))
def test_repaired_sets_stay_accepted(damages: list[str], age: timedelta, waits: list[timedelta]) -> None:
    current, now = make_set("first"), START + age
    for damage in damages:
        current = DAMAGES[damage](current)
    for wait in [timedelta(), *waits]:
        now += wait
        current = rotate(current, NAMES, now, POLICY)
        assert is_accepted(current, current.bundle, now)
        assert next_change(current, now, POLICY) > now
    # One more step may follow, as in a rotation, but no endless sequence.
    settled = rotate(current, NAMES, now, POLICY)
    assert rotate(settled, NAMES, now, POLICY) == settled


@settings(deadline=None)
@given(st.integers(-60, int(DUE / timedelta(minutes=1)) - 1))
def test_healthy_sets_are_never_replaced_early(minutes: int) -> None:
    first = make_set("first")
    assert rotate(first, NAMES, START + timedelta(minutes=minutes), POLICY) == first


@pytest.mark.parametrize(
    "damage", ["empty tls.key", "garbage tls.key", "foreign tls.key", "empty tls.crt", "imitated issuer"]
)
def test_a_certificate_is_replaced_by_the_authority_that_api_servers_know(damage: str) -> None:
    first = make_set("first")
    repaired = rotate(DAMAGES[damage](first), NAMES, START, POLICY)
    assert repaired.bundle == first.bundle
    assert is_accepted(repaired, first.bundle, START)


@pytest.mark.parametrize("damage", ["empty ca.key", "garbage ca.key", "foreign ca.key"])
def test_a_lost_authority_key_fails_no_call(damage: str) -> None:
    first = make_set("first")
    joined = rotate(DAMAGES[damage](first), NAMES, START, POLICY)
    assert is_accepted(joined, first.bundle, START)
    later = START + POLICY.propagation
    switched = rotate(joined, NAMES, later, POLICY)
    assert is_accepted(switched, joined.bundle, later)
    assert is_accepted(first, switched.bundle, later)
    last = rotate(switched, NAMES, later + POLICY.propagation, POLICY)
    assert len(load_pem_x509_certificates(last.bundle)) == 1
    assert is_accepted(switched, last.bundle, later + POLICY.propagation)


def test_old_authorities_stay_trusted_while_all_is_replaced() -> None:
    first = make_set("first")
    repaired = rotate(replace(first, authority_key=b"", key=b""), NAMES, START, POLICY)
    assert is_accepted(first, repaired.bundle, START)
    assert is_accepted(repaired, repaired.bundle, START)


def test_a_foreign_authority_leaves_the_bundle() -> None:
    first = make_set("first")
    damaged = DAMAGES["authority appended"](first)
    assert rotate(damaged, NAMES, START + POLICY.propagation, POLICY) == first


def test_bundles_do_not_grow_for_ever() -> None:
    current = make_set("first")
    for _ in range(30):
        current = rotate(replace(current, authority_key=b""), NAMES, START, POLICY)
    assert len(load_pem_x509_certificates(current.bundle)) <= 8
    assert is_accepted(current, make_set("first").bundle, START)
    assert is_accepted(current, current.bundle, START)


def test_authorities_that_expire_soon_issue_nothing() -> None:
    authority, key = make_authority(START, POLICY.propagation / 2, POLICY.backdate)
    repaired = rotate(CertificateSet(authority, key), NAMES, START, POLICY)
    assert is_accepted(repaired, repaired.bundle, START + POLICY.propagation)


@in_virtual_time
async def test_a_damaged_secret_is_repaired_at_the_next_load() -> None:
    async with Environment() as env:
        source = SecretCertificates(env.client, "default", "hook", NAMES, POLICY, lambda: START)
        first = await source.load()
        secrets = env.client.resource(Secret, "default")
        rubbish = base64.b64encode(b"rubbish").decode()
        await secrets.patch("hook", Patch.merge({"data": {"tls.key": rubbish, "ca.key": rubbish}}))
        repaired = await source.load()
        stored = CertificateSet.from_data((await secrets.get("hook")).data)
        assert (stored.certificate, stored.key, stored.bundle) == (repaired.certificate, repaired.key, repaired.bundle)
        assert is_accepted(stored, repaired.bundle, START)
        assert first.bundle in repaired.bundle
