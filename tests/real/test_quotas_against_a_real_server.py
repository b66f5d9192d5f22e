"""Random requests under quotas and limit ranges, put to a real server and to the embedded one.

Neither runs controllers: the test writes the first status of each quota, and admission charges it. Each request must
get the same response, and leave the same usage.

``MASTHEAD_QUOTA_SEQUENCES`` says how many sequences; ``MASTHEAD_QUOTA_SEED`` which.
"""

from __future__ import annotations

import os
from contextlib import closing, contextmanager
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.api import Api
from tests.conformance.bounds import await_limit_ranges, await_quotas
from tests.conformance.target import embedded_target, real_target
from tests.real.quota_sequences import MERGE, QuotaSequence, Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conformance.target import Target
    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real"), pytest.mark.timeout(3600)]

Plain = dict[str, Any]
COUNT = int(os.environ.get("MASTHEAD_QUOTA_SEQUENCES", "6"))
SEED = int(os.environ.get("MASTHEAD_QUOTA_SEED", "25"))
LENGTH = 20
TRIES = 24
"""Where several quotas or ranges refuse a request, or several fields are wrong, kube-apiserver's order is random."""
REFUSED = frozenset({403, 422})


@contextmanager
def api_in(target: Target, namespace: str) -> Iterator[Api]:
    with closing(Api(target, namespace)) as api:
        api.quietly("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        api.remove_at_the_end(f"/api/v1/namespaces/{namespace}")
        yield api


def prepare(api: Api, quotas: list[Plain], ranges: list[Plain]) -> None:
    for limit_range in ranges:
        code, made = api.quietly("POST", api.path("limitranges"), limit_range)
        assert code == 201, made
    for quota in quotas:
        code, made = api.quietly("POST", api.path("resourcequotas"), quota)
        assert code == 201, made
        hard = quota["spec"]["hard"]
        status = {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
        path = f"{api.path('resourcequotas')}/{quota['metadata']['name']}/status"
        code, made = api.quietly("PATCH", path, status, Content_Type=MERGE)
        assert code == 200, made
    await_quotas(api)
    if ranges:
        await_limit_ranges(api)


def remove_services_at_the_end(api: Api, steps: list[Step]) -> None:
    """Give back cluster IPs: nothing empties the namespaces, and there are few addresses."""
    for step in steps:
        if step.method == "POST" and step.path == api.path("services") and step.body is not None:
            api.remove_at_the_end(f"{step.path}/{step.body['metadata']['name']}")


def send(api: Api, step: Step) -> tuple[int, str]:
    code, body = api.quietly(step.method, step.path, step.body, Content_Type=step.content_type)
    return code, str(body.get("message", "")) if code >= 400 else ""


def usage(api: Api) -> dict[str, Plain]:
    _, found = api.quietly("GET", api.path("resourcequotas"))
    return {item["metadata"]["name"]: item["status"]["used"] for item in found["items"]}


def resources(api: Api) -> dict[str, Any]:
    """The resources and annotations of pods, which limit ranges set."""
    _, found = api.quietly("GET", api.path("pods"))
    return {
        item["metadata"]["name"]: (
            item["metadata"].get("annotations"),
            [container["resources"] for container in item["spec"]["containers"]],
        )
        for item in found["items"]
    }


def compare(real: Api, ours: Api, step: Step) -> list[str]:
    """Send a request to both; returns what differs."""
    expected, found = send(real, step), send(ours, step)
    for _ in range(TRIES):
        if expected == found or expected[0] != found[0] or expected[0] not in REFUSED:
            break
        expected = send(real, step)
    differences = [] if expected == found else [f"{step}: real {expected}, here {found}"]
    if usage(real) != usage(ours):
        differences.append(f"{step}: usage: real {usage(real)}, here {usage(ours)}")
    return differences


def run_sequence(real: Target, ours: Target, number: int) -> list[str]:
    namespace = f"quota-{SEED}-{number}"
    sequence = QuotaSequence(Random(f"{SEED} {number}"), namespace)
    quotas, ranges, steps = sequence.quotas(), sequence.limit_ranges(), sequence.steps(LENGTH)
    with api_in(real, namespace) as real_api, api_in(ours, namespace) as our_api:
        for api in (real_api, our_api):
            prepare(api, quotas, ranges)
        for api in (real_api, our_api):
            remove_services_at_the_end(api, steps)
        for step in steps:
            if differences := compare(real_api, our_api, step):
                return [f"sequence {number}: {text}" for text in differences]
        if resources(real_api) != resources(our_api):
            return [f"sequence {number}: real {resources(real_api)}, here {resources(our_api)}"]
    return []


def test_quotas_and_limit_ranges_decide_as_on_a_real_server(real_server: RealServer) -> None:
    real = real_target(real_server)
    with embedded_target() as ours:
        differences = [text for number in range(COUNT) for text in run_sequence(real, ours, number)]
    assert not differences, f"{len(differences)} differences\n" + "\n".join(differences[:20])
