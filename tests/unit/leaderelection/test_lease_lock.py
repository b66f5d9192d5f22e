"""Records from and to the spec of a Lease, whatever others have written there."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.leaderelection.replicas import cluster

from masthead._leaderelection.lease_lock import LeaseLock, record_of, spec_of
from masthead._meta.unstructured import Unstructured
from masthead._sansio.lease_records import Create, LeaseRecord, Read, Update
from masthead.errors import AlreadyExistsError
from masthead.testing.virtual_time import in_virtual_time

TIMES = st.datetimes(timezones=st.just(UTC))
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def lease(spec: object) -> Unstructured:
    made = Unstructured.new("operator", api_version="coordination.k8s.io/v1", kind="Lease", namespace="default")
    made["spec"] = spec
    return made


def test_the_record_is_written_as_client_go_writes_it() -> None:
    when = datetime(2026, 7, 1, 12, 30, 15, 120, tzinfo=UTC)

    assert spec_of(LeaseRecord("a", 15, when, when, 3)) == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-07-01T12:30:15.000120Z",
        "renewTime": "2026-07-01T12:30:15.000120Z",
        "leaseTransitions": 3,
    }


@given(st.builds(LeaseRecord, st.text(min_size=1), st.integers(1, 2**31 - 1), TIMES, TIMES, st.integers(0, 2**31 - 1)))
def test_a_record_that_is_written_and_read_is_the_same(record: LeaseRecord) -> None:
    assert record_of(Unstructured.from_wire(lease(spec_of(record)).to_json())) == record


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "holderIdentity",
                "leaseDurationSeconds",
                "acquireTime",
                "renewTime",
                "leaseTransitions",
                "strategy",
            ]
        ),
        ANYTHING,
    )
    | ANYTHING
)
def test_whatever_stands_there_is_read(spec: Any) -> None:
    record = record_of(lease(spec))

    assert record.seconds is None or record.seconds > 0
    assert record.transitions >= 0


def test_a_holder_that_is_not_text_holds_it_nonetheless() -> None:
    assert record_of(lease({"holderIdentity": 5})).holder == "5"


@pytest.mark.parametrize("seconds", [0, -1, True, "15", 1.5, None])
def test_a_duration_that_is_not_one_is_left_out(seconds: object) -> None:
    assert record_of(lease({"leaseDurationSeconds": seconds})).seconds is None


def test_an_invalid_time_is_named(caplog: pytest.LogCaptureFixture) -> None:
    assert record_of(lease({"renewTime": "yesterday"})).renewed is None
    assert "lease default/operator: spec.renewTime: 'yesterday' is not a time" in caplog.text


@in_virtual_time
async def test_a_lease_is_created_once_and_read_as_it_was_created() -> None:
    when = datetime(2026, 7, 1, 12, 30, 15, 120, tzinfo=UTC)
    record = LeaseRecord("a", 15, when, when, 3)
    async with cluster() as replicas:
        lock = LeaseLock(replicas.client, "operator", "default", labels={}, timeout=5.0)
        assert str(lock) == "default/operator"
        assert await lock.perform(Read()) is None

        created = await lock.perform(Create(record))
        assert created is not None
        assert created.record == record
        assert await lock.perform(Read()) == created
        with pytest.raises(AlreadyExistsError, match="operator"):
            await lock.perform(Create(record))


@in_virtual_time
async def test_an_update_keeps_fields_that_a_record_has_not() -> None:
    when = datetime(2026, 7, 1, 12, 30, 15, 120, tzinfo=UTC)
    stored = {"holderIdentity": "a", "preferredHolder": "b", "strategy": "OldestEmulationVersion"}
    async with cluster() as replicas:
        lock = LeaseLock(replicas.client, "operator", "default", labels={}, timeout=5.0)
        lock._current = lease(stored)
        record = LeaseRecord("c", 15, when, when, 1)

        assert lock._build_update(Update(record, "7"))["spec"] == stored | spec_of(record)
