"""Limit ranges and quotas of cases, and how a case waits until the server's admission knows them."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.conformance.objects import named, pod, pod_spec
from tests.conformance.resources import path_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.api import Api, CallResponse, Plain

_numbers = itertools.count(1)


def limit_range(api: Api, *limits: Plain, name: str = "l") -> CallResponse:
    """Create a limit range, and wait until it counts."""
    made = api.create("limitranges", named("v1", "LimitRange", name, spec={"limits": list(limits)}))
    await_limit_ranges(api)
    return made


def quota(
    api: Api,
    hard: dict[str, str],
    used: dict[str, str] | None = None,
    *,
    name: str = "q",
    spec: Plain | None = None,
) -> None:
    """Create a quota, write its status as a controller would, and wait until it counts."""
    api.create("resourcequotas", named("v1", "ResourceQuota", name, spec={"hard": hard, **(spec or {})}))
    measure(api, hard, used, name=name)


def measure(api: Api, hard: dict[str, str], used: dict[str, str] | None = None, *, name: str = "q") -> None:
    """Write the status of a quota, and wait until it counts; without usage, nothing is in use."""
    status = {"hard": hard, "used": dict.fromkeys(hard, "0") if used is None else used}
    api.patch("resourcequotas", f"{name}/status", {"status": status})
    await_quotas(api)


def await_quotas(api: Api) -> None:
    """Wait until the server's admission has seen all quotas: it sees them in order, and a marker at last."""
    _await_marker(
        api,
        "resourcequotas",
        named("v1", "ResourceQuota", "marker", spec={"hard": {"count/serviceaccounts": "0"}}),
        lambda number: {"status": {"hard": {"count/serviceaccounts": "0"}, "used": {"count/serviceaccounts": number}}},
        "serviceaccounts",
        named("v1", "ServiceAccount", "probe"),
    )


def await_limit_ranges(api: Api) -> None:
    """Wait until the server's admission has seen all limit ranges."""
    limits = [{"type": "Pod", "max": {"example.com/marker": "0"}}]
    _await_marker(
        api,
        "limitranges",
        named("v1", "LimitRange", "marker", spec={"limits": limits}),
        lambda number: {"spec": {"limits": [{"type": "Pod", "max": {"example.com/marker": number}}]}},
        "pods",
        pod("probe"),
    )


def _await_marker(
    api: Api, resource: str, marker: Plain, change: Callable[[str], Plain], probed: str, probe: Plain
) -> None:
    """Change a marker in a namespace of its own, and wait until a probe is refused because of it."""
    namespace = f"{api.namespace}-marker"
    api.quietly("POST", path_of("namespaces", ""), named("v1", "Namespace", namespace))
    api.remove_at_the_end(f"{path_of('namespaces', '')}/{namespace}")
    path = path_of(resource, namespace)
    api.quietly("POST", path, marker)
    # Twice: the real server reads limit ranges past its cache, but only if the cache has none of the namespace.
    for _ in range(2):
        number = str(next(_numbers))
        patch = change(number)
        target = f"{path}/marker/status" if "status" in patch else f"{path}/marker"
        api.quietly("PATCH", target, patch, Content_Type="application/merge-patch+json")
        api.await_response(
            f"{path_of(probed, namespace)}?dryRun=All",
            partial(_mentions, number),
            method="POST",
            body=probe,
        )


def _mentions(number: str, _code: int, body: Plain) -> bool:
    message = str(body.get("message"))
    return f"used: count/serviceaccounts={number}," in message or f"per Pod is {number}." in message


def container(
    name: str = "main", *, requests: dict[str, str] | None = None, limits: dict[str, str] | None = None, **more: Any
) -> Plain:
    """A container with resources."""
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value is not None}
    return {"name": name, "image": "image", "resources": resources, **more}


def pod_of(name: str, *containers: Plain, init: list[Plain] | None = None, **spec: Any) -> Plain:
    """A pod of these containers."""
    found = {"containers": list(containers) or pod_spec()["containers"], **spec}
    return pod(name, spec={**found, "initContainers": init} if init else found)


def claim(name: str, storage: str = "1Gi", **spec: Any) -> Plain:
    """A claim of storage."""
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}, **spec}
    return named("v1", "PersistentVolumeClaim", name, spec=wanted)
