"""Admission of the embedded server: what a create costs with and without plugins and webhooks."""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import time
from typing import TYPE_CHECKING, Any, Final

from tests.conformance.webhooks import ScriptedWebhook, authority

from benchmarks.harness import measure
from benchmarks.harness.report import Column, Row, Table, Target
from benchmarks.harness.wire import Connection
from masthead_server.admission.registry import OFF_BY_DEFAULT, PLUGINS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

    from benchmarks.harness.measure import Figures
    from benchmarks.harness.wire import Address

    Start = Callable[..., AbstractContextManager[tuple[Address, int]]]

OVERHEAD: Final = 1.05
"""Times the CPU of a create without webhooks and policies, if a webhook is configured that does not match."""
_WARM_UP: Final = 50
_PATH: Final = "/apis/admissionregistration.k8s.io/v1"
_MAPS: Final = "/api/v1/namespaces/default/configmaps"
_CASES: Final = {
    "none": "no plugin at all",
    "defaults": "kube-apiserver's plugins, nothing configured",
    "rule": "  two webhooks for another resource",
    "selector": "  two webhooks for other labels",
    "called": "  two webhooks that are called, on loopback",
}


def admission_table(start: Start, repeat: int, creates: int) -> Table:
    """Measure creates of ConfigMaps over one connection.

    Args:
        start: Runs a server with options for the length of a block.
        repeat: Rounds, each with servers of its own.
        creates: How many objects to create in each.
    """
    cases = {name: functools.partial(_measure, start, name, creates) for name in _CASES}
    best = measure.best_of(repeat, cases)
    base = best["defaults"]["cpu"]
    rows: list[Row] = []
    for name, title in _CASES.items():
        cpu = best[name]["cpu"]
        ratio = cpu / base if cpu is not None and base else None
        target = Target(f"admission_{name}", ratio, OVERHEAD) if ratio and name in {"rule", "selector"} else None
        rows.append(
            Row(name, title, (measure.scaled(best[name]["wall"], 1e6), measure.scaled(cpu, 1e6), ratio), target)
        )
    columns = (Column("us", "wall µs"), Column("cpu_us", "server's CPU µs"), Column("ratio", "times the defaults", 2))
    return Table("admission", f"a create of a ConfigMap: minimum of {repeat}", columns, tuple(rows))


def _measure(start: Start, case: str, creates: int) -> Figures:
    options = ("--disable-admission-plugins", ",".join(PLUGINS.keys() - OFF_BY_DEFAULT)) if case == "none" else ()
    with _webhook(case) as webhook, start(*options) as (address, process), Connection(address) as connection:
        for kind in ("Validating", "Mutating") if webhook is not None else ():
            body = json.dumps(_configuration(case, webhook, kind)).encode()
            connection.send(address.request("POST", f"{_PATH}/{kind.lower()}webhookconfigurations", body))
        requests = [_create(address, number) for number in range(creates + _WARM_UP)]
        for request in requests[:_WARM_UP]:
            connection.send(request)
        before, began = measure.cpu_seconds(process), time.perf_counter()
        for request in requests[_WARM_UP:]:
            connection.send(request)
        wall, after = time.perf_counter() - began, measure.cpu_seconds(process)
    cpu = None if before is None or after is None else (after - before) / creates
    return {"wall": wall / creates, "cpu": cpu}


def _create(address: Address, number: int) -> bytes:
    body: dict[str, Any] = {"metadata": {"name": f"map-{number}", "labels": {"app": "web"}}, "data": {"key": "value"}}
    return address.request("POST", _MAPS, json.dumps(body).encode())


@contextlib.contextmanager
def _webhook(case: str) -> Generator[ScriptedWebhook | None]:
    if case not in {"rule", "selector", "called"}:
        yield None
        return
    webhook = ScriptedWebhook("default", tls=True, content_type="application/json", names=())
    try:
        yield webhook
    finally:
        webhook.close()


def _configuration(case: str, webhook: ScriptedWebhook | None, kind: str) -> dict[str, Any]:
    assert webhook is not None
    resource = "secrets" if case == "rule" else "configmaps"
    hook: dict[str, Any] = {
        "name": "benchmark.example.com",
        "clientConfig": {
            "url": f"https://127.0.0.1:{webhook.port}/",
            "caBundle": base64.b64encode(authority().cert_pem.bytes()).decode(),
        },
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": [resource]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    if case == "selector":
        hook["objectSelector"] = {"matchLabels": {"app": "other"}}
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration"}
    return {**head, "metadata": {"name": "benchmark"}, "webhooks": [hook]}
