"""Rotation of certificates: at every moment, every replica is trusted by every API server."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masthead._webhook.certificate_sources import FileCertificates, SecretCertificates
from masthead._webhook.certificates import issue_certificate, parse_bundle, parse_certificate, tls_context
from masthead._webhook.rotation import CertificateSet, RotationPolicy, next_change, rotate
from masthead.aio import Client
from masthead.api.core.v1 import Secret
from masthead.errors import ArgumentError, ConfigError
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from pathlib import Path

NAMES = frozenset({"hook.shop.svc"})
START = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = RotationPolicy(
    authority_validity=timedelta(hours=100),
    certificate_validity=timedelta(hours=10),
    propagation=timedelta(hours=1),
    backdate=timedelta(hours=1),
)


def is_trusted(presented: CertificateSet, bundle: bytes, now: datetime) -> bool:
    issued = parse_certificate(presented.certificate, POLICY.backdate)
    assert issued is not None
    trusted = {authority.key_id for authority in parse_bundle(bundle, POLICY.backdate) if authority.expires > now}
    return issued.issuer_id in trusted and issued.expires > now and issued.created - POLICY.backdate <= now


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 59), min_size=1, max_size=6))
def test_replicas_and_api_servers_may_lag_behind_by_the_propagation(minutes: list[int]) -> None:
    history: list[tuple[datetime, CertificateSet]] = [(START, rotate(CertificateSet(), NAMES, START, POLICY))]
    now = START
    for step in range(400):
        now += timedelta(minutes=minutes[step % len(minutes)])
        current = history[-1][1]
        wanted = rotate(current, NAMES, now, POLICY)
        if wanted != current:
            history.append((now, wanted))
        # All sets that a replica or an API server may still use.
        seen = [
            known
            for index, (_, known) in enumerate(history)
            if index == len(history) - 1 or history[index + 1][0] > now - POLICY.propagation
        ]
        assert all(is_trusted(presented, bundle.bundle, now) for presented in seen for bundle in seen)


def test_authorities_are_replaced_in_three_steps() -> None:
    current, now = rotate(CertificateSet(), NAMES, START, POLICY), START
    counts: list[int] = []
    while now < START + timedelta(hours=90):
        now = next_change(current, now, POLICY)
        wanted = rotate(current, NAMES, now, POLICY)
        if len(wanted.bundle) != len(current.bundle):
            counts.append(len(parse_bundle(wanted.bundle, POLICY.backdate)))
        current = wanted
    assert counts == [2, 1]


def test_a_certificate_is_renewed_when_a_third_of_its_lifetime_is_left() -> None:
    first = rotate(CertificateSet(), NAMES, START, POLICY)
    due = START + timedelta(hours=6, minutes=41)
    assert rotate(first, NAMES, due - timedelta(minutes=2), POLICY) == first
    renewed = rotate(first, NAMES, due, POLICY)
    assert renewed.bundle == first.bundle
    assert renewed.certificate != first.certificate


def test_new_names_need_a_new_certificate() -> None:
    first = rotate(CertificateSet(), NAMES, START, POLICY)
    renewed = rotate(first, NAMES | {"10.0.0.1"}, START, POLICY)
    issued = parse_certificate(renewed.certificate, POLICY.backdate)
    assert issued is not None
    assert issued.names == NAMES | {"10.0.0.1"}


def test_policies_leave_time_for_a_rotation() -> None:
    with pytest.raises(ArgumentError, match="certificate_validity"):
        RotationPolicy(certificate_validity=timedelta(minutes=30))
    with pytest.raises(ArgumentError, match="renew_before"):
        RotationPolicy(renew_before=1.5)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("renew_before", timedelta(days=30)),
        ("renew_before", "1/3"),
        ("renew_before", True),
        ("authority_validity", 3650),
        ("certificate_validity", "365d"),
        ("propagation", 600),
        ("backdate", timedelta(hours=-1)),
    ],
    ids=lambda given: str(given),
)
def test_values_of_a_policy_are_checked_with_their_names(field: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=f"{field} must be"):
        RotationPolicy(**{field: value})


def test_unusable_authorities_and_certificates_are_named() -> None:
    with pytest.raises(ConfigError, match="authority"):
        issue_certificate(b"", b"", NAMES, START, timedelta(days=1), timedelta())
    one, other = (rotate(CertificateSet(), NAMES, START, POLICY) for _ in range(2))
    with pytest.raises(ConfigError, match="the key belongs to another certificate"):
        tls_context(one.certificate, other.key)


@in_virtual_time
async def test_replicas_that_race_for_the_secret_agree() -> None:
    async with Environment() as env, Client(env.config) as other:
        sources = [
            SecretCertificates(client, "default", "hook", NAMES, POLICY, lambda: START)
            for client in (env.client, other, env.client, other)
        ]
        found = await asyncio.gather(*(source.load() for source in sources))
        assert len(set(found)) == 1
        stored = await env.client.resource(Secret, "default").get("hook")
        assert stored.type == "kubernetes.io/tls"
        assert stored.data["tls.crt"] == found[0].certificate

        later = START + timedelta(hours=9)
        renewing = [
            SecretCertificates(client, "default", "hook", NAMES, POLICY, lambda: later)
            for client in (env.client, other)
        ]
        renewed = await asyncio.gather(*(source.load() for source in renewing))
        assert len(set(renewed)) == 1
        assert renewed[0].certificate != found[0].certificate
        assert renewed[0].bundle == found[0].bundle


@in_virtual_time
async def test_other_data_of_the_secret_is_kept() -> None:
    async with Environment() as env:
        secrets = env.client.resource(Secret, "default")
        await secrets.create(Secret.new("hook", labels={"a": "b"}, data={"other": b"x"}))
        await SecretCertificates(env.client, "default", "hook", NAMES, POLICY, lambda: START).load()
        stored = await secrets.get("hook")
        assert (stored.data["other"], stored.metadata.labels) == (b"x", {"a": "b"})
        assert set(stored.data) == {"other", "ca.crt", "ca.key", "tls.crt", "tls.key"}


async def test_files_are_read_again(tmp_path: Path) -> None:
    source = FileCertificates(str(tmp_path))
    with pytest.raises(ConfigError, match=r"tls\.crt"):
        await source.load()
    (tmp_path / "tls.crt").write_bytes(b"one")
    (tmp_path / "tls.key").write_bytes(b"key")
    assert (await source.load()).certificate == b"one"
    (tmp_path / "tls.crt").write_bytes(b"two")
    loaded = await source.load()
    assert (loaded.certificate, loaded.bundle) == (b"two", b"")
    (tmp_path / "ca.crt").write_bytes(b"ca")
    assert (await FileCertificates(str(tmp_path), needs_bundle=True).load()).bundle == b"ca"
