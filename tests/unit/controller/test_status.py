"""Patches of a status: names, values, and cases without a change."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import masthead
import masthead.aio
from masthead._controller.status import status_patch
from masthead.api.core.v1 import ConfigMap, Pod
from masthead.errors import ArgumentError
from masthead.meta import MicroTime, MicroTimeField, Object, Struct, Time, Unstructured, field
from masthead.testing import Environment, in_virtual_time

NOW = datetime(2025, 1, 2, tzinfo=UTC)


class Endpoint(Struct):
    port: int = 0
    url: str | None = field(name="theURL", default=None)


class GatewayStatus(Struct):
    ready: int = 0
    url: str | None = field(name="apiURL", default=None)
    http_2xx: int | None = None
    main: Endpoint | None = None
    endpoints: dict[str, Endpoint] = {}


class Gateway(masthead.CustomResource, group="status.example.com", version="v1"):
    status: GatewayStatus | None = None


class Loose(masthead.CustomResource, group="status.example.com", version="v1"):
    status: dict[str, Any] = {}


def existing(cls: type[Object], status: dict[str, object]) -> Object:
    gvk = cls.GVK
    metadata = {"name": "one", "namespace": "default", "uid": "u", "resourceVersion": "7"}
    return cls.from_dict({"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata, "status": status})


def changes(obj: Object, status: dict[str, object] | Struct) -> object:
    """Return the status in a patch; None without a patch."""
    found = status_patch(obj, status, (), generation=None, now=NOW)
    return None if found is None else found["status"]


GATEWAY = existing(
    Gateway,
    {
        "ready": 3,
        "apiURL": "https://a",
        "http2Xx": 7,
        "main": {"port": 1, "theURL": "https://b"},
        "endpoints": {"a": {"port": 1}, "b": {"port": 2}},
    },
)


@pytest.mark.parametrize(
    ("given", "wire"),
    [("url", "apiURL"), ("apiURL", "apiURL"), ("http_2xx", "http2Xx"), ("http2Xx", "http2Xx"), ("main", "main")],
)  # fmt: skip
def test_none_removes_a_field_by_its_attribute_and_by_its_wire_name(given: str, wire: str) -> None:
    assert changes(GATEWAY, {given: None}) == {wire: None}


@pytest.mark.parametrize("name", ["host_ips", "hostIPs"])
def test_none_removes_a_field_of_a_built_in_kind(name: str) -> None:
    pod = existing(Pod, {"hostIPs": [{"ip": "192.0.2.1"}], "podIP": "192.0.2.2"})

    assert changes(pod, {name: None, "pod_ip": None}) == {"hostIPs": None, "podIP": None}


def test_nothing_is_sent_to_remove_what_is_not_there() -> None:
    assert changes(existing(Gateway, {"ready": 1}), {"url": None, "ready": 1}) is None


@pytest.mark.parametrize("value", [None, 1])
@pytest.mark.parametrize("name", ["urll", "phase"])
def test_unknown_status_fields_are_rejected(name: str, value: object) -> None:
    with pytest.raises(ArgumentError, match=f'status: GatewayStatus has no field "{name}"'):
        changes(GATEWAY, {name: value})


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("raedy", 'did you mean "ready"\\?'),
        ("endpionts", 'did you mean "endpoints"\\?'),
        ("endp", 'did you mean "endpoints"\\?'),
        ("zzz", "it has ready, url, http_2xx, main, endpoints$"),
    ],
)
def test_an_unknown_check_is_rejected_with_the_known_names(name: str, hint: str) -> None:
    with pytest.raises(ArgumentError, match=f'has no field "{name}"; {hint}'):
        changes(GATEWAY, {name: 1})


def test_an_unknown_name_inside_is_refused_as_well() -> None:
    with pytest.raises(ArgumentError, match=r'status\.main: Endpoint has no field "uri"'):
        changes(GATEWAY, {"main": {"uri": None}})


def test_a_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(ArgumentError, match="expected text as the key"):
        changes(GATEWAY, {1: None})  # type: ignore[dict-item] # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ["url", "theURL"])
def test_none_inside_a_field_removes_what_is_there(name: str) -> None:
    assert changes(GATEWAY, {"main": {"port": 1, name: None}}) == {"main": {"port": 1, "theURL": None}}


def test_none_removes_an_entry_of_a_map() -> None:
    wanted: dict[str, object] = {"endpoints": {"a": {"port": 1}, "b": None}}

    assert changes(GATEWAY, wanted) == {"endpoints": {"a": {"port": 1}, "b": None}}
    assert changes(existing(Gateway, {"endpoints": {"a": {"port": 1}}}), wanted) is None


@pytest.mark.parametrize("cls", [Loose, Unstructured])
def test_names_of_an_untyped_status_are_unchanged(cls: type[Object]) -> None:
    plain = existing(Loose, {"ready_pods": 1, "inner": {"a": 1}}).to_dict()
    obj = cls.from_dict(plain)

    assert changes(obj, {"ready_pods": None}) == {"ready_pods": None}
    assert changes(obj, {"readyPods": None}) is None
    assert changes(obj, {"inner": {"a": None}}) == {"inner": {"a": None}}
    assert changes(obj, {"inner": {"a": 1, "b": None}}) is None


def test_an_object_sets_what_it_has() -> None:
    assert changes(GATEWAY, GatewayStatus(ready=4)) == {"ready": 4}
    assert changes(GATEWAY, GatewayStatus(ready=3)) is None


class VisitStatus(Struct):
    last: Time | None = None
    exact: MicroTimeField | None = None


class Visit(masthead.CustomResource, group="status.example.com", version="v1"):
    status: VisitStatus


FINE = datetime(2026, 1, 1, 12, 0, 59, 987654, tzinfo=UTC)


@pytest.mark.parametrize("status", [{"last": FINE, "exact": FINE}, VisitStatus(last=FINE, exact=FINE)])
def test_times_are_written_in_the_format_of_their_fields(status: dict[str, object] | Struct) -> None:
    wanted: dict[str, object] = {"last": "2026-01-01T12:00:59Z", "exact": "2026-01-01T12:00:59.987654Z"}

    assert changes(existing(Visit, {}), status) == wanted
    assert changes(existing(Visit, wanted), status) is None


def test_times_of_an_untyped_object_are_written_to_the_second_and_once() -> None:
    obj = existing(Visit, {})
    wanted = {"last": "2026-01-01T12:00:59Z", "in": {"exact": "2026-01-01T12:00:59.987654Z"}}
    status = {"last": FINE, "in": {"exact": MicroTime.of(FINE)}}
    plain, again = (Unstructured.from_dict({**obj.to_dict(), "status": held}) for held in ({}, wanted))

    assert changes(plain, status) == wanted
    assert changes(again, status) is None


def test_a_kind_without_a_status_says_so() -> None:
    with pytest.raises(ArgumentError, match="ConfigMap has no status"):
        changes(ConfigMap.new("one"), {"ready": None})


@in_virtual_time
async def test_the_context_refuses_a_condition_that_the_api_does_not_allow() -> None:
    app = masthead.Manager("conditions")
    problems: list[str] = []

    @app.controller(ConfigMap)
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], _: ConfigMap) -> None:
        for status, reason in (("yes", "Ok"), (True, "not ok"), (False, "")):
            with pytest.raises(ArgumentError) as caught:
                ctx.condition("Ready", status, reason)  # type: ignore[arg-type]
            problems.append(str(caught.value))
        assert ctx.condition("Ready", False, "Down").status == "False"

    async with Environment(app, objects=[ConfigMap.new("a", namespace="default")]) as env:
        await env.wait_for_idle()
    assert [problem.split(";")[0] for problem in problems] == [
        "the status of the condition 'Ready' is 'yes'",
        "the reason of the condition 'Ready' is 'not ok'",
        "the reason of the condition 'Ready' is ''",
    ]
