"""Defaults: what the server fills in, checked against the responses of a real one.

``tests/data/server/created.json`` holds objects that were given to kube-apiserver, and its responses.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.server.builtin import apply_defaults

from masthead_server.resources.defaulting.pod_template import pull_policy

Plain = dict[str, Any]


class Case(msgspec.Struct):
    name: str
    given: Plain
    answer: Plain


class Recorded(msgspec.Struct):
    about: str
    cases: list[Case]


DATA = Path(__file__).parents[2] / "data" / "server"
CREATED = msgspec.json.decode((DATA / "created.json").read_bytes(), type=Recorded).cases
every_case = pytest.mark.parametrize("case", CREATED, ids=[case.name for case in CREATED])


def complete(obj: Plain) -> Plain:
    """Apply the defaults of an object's own kind."""
    group, _, version = obj["apiVersion"].rpartition("/")
    apply_defaults(group, version, obj["kind"], obj)
    return obj


def strays(found: object, known: object, path: str = "") -> list[str]:
    """Name what is in the one and not, or not so, in the other. What is empty need not be there."""
    if isinstance(found, dict):
        other = known if isinstance(known, dict) else {}
        return [stray for key in found for stray in strays(found[key], other.get(key), f"{path}.{key}")]
    if isinstance(found, list) and isinstance(known, list) and len(found) <= len(known):
        pairs = enumerate(zip(found, known, strict=False))
        return [stray for index, pair in pairs for stray in strays(*pair, f"{path}[{index}]")]
    return [] if found == known or found in (None, "", [], {}) else [f"{path}: {found!r}, not {known!r}"]


# What is not a default changes these: a Secret's texts are encoded, a source that is unknown is dropped.
OVERRULED = {
    "ds": (".metadata.annotations",),
    "secret": (".stringData", ".data"),
    "secret-tls": (".stringData",),
    "pvc-dsbad": (".spec.dataSource",),
}


@every_case
def test_defaults_are_those_of_the_real_server(case: Case) -> None:
    found = strays(complete(copy.deepcopy(case.given)), case.answer)
    assert [each for each in found if not each.startswith(OVERRULED.get(case.name, ("nothing",)))] == []


@every_case
def test_defaulting_leaves_a_response_of_the_real_server_unchanged(case: Case) -> None:
    assert complete(copy.deepcopy(case.answer)) == case.answer


@every_case
def test_defaulting_is_idempotent(case: Case) -> None:
    once = complete(copy.deepcopy(case.given))
    assert complete(copy.deepcopy(once)) == once


def test_a_kind_without_defaults_is_left_alone() -> None:
    thing: Plain = {"apiVersion": "example.com/v1", "kind": "Thing", "spec": {}}
    assert complete(copy.deepcopy(thing)) == thing
    config: Plain = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    assert complete(copy.deepcopy(config)) == config


def test_objects_do_not_share_their_defaults() -> None:
    one, other = (
        complete({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "a", "image": "b"}]}})
        for _ in range(2)
    )
    one["spec"]["securityContext"]["runAsUser"] = 1
    assert other["spec"]["securityContext"] == {}


def test_a_null_counts_as_left_out() -> None:
    pod = complete({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [], "restartPolicy": None}})
    assert pod["spec"]["restartPolicy"] == "Always"


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("localhost:5000/nginx", "Always"),
        ("localhost:5000/nginx:1.27", "IfNotPresent"),
        ("nginx@sha256:" + "a" * 64, "IfNotPresent"),
        ("nginx:latest@sha256:" + "a" * 64, "Always"),
        ("not an image", "IfNotPresent"),
        ("", "IfNotPresent"),
    ],
)
def test_an_image_that_may_have_moved_is_pulled_always(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


@pytest.mark.parametrize(
    ("given", "kept"),
    [("1000m", "1"), ("0.0001", "1m"), ("1.5Ki", "1536"), ("1024Mi", "1Gi"), (2, "2"), ("1e3", "1e3")],
)
def test_amounts_are_rounded_up_to_thousandths_and_written_canonically(given: str | int, kept: str) -> None:
    quota = complete({"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"cpu": given}}})
    assert quota["spec"]["hard"]["cpu"] == kept


def test_the_first_version_of_autoscalers_keeps_metrics_of_its_own() -> None:
    key = "autoscaling.alpha.kubernetes.io/metrics"
    scaler = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "spec": {"maxReplicas": 2}}
    annotated: Plain = {**copy.deepcopy(scaler), "metadata": {"annotations": {key: "[]"}}}
    assert complete(scaler)["spec"]["targetCPUUtilizationPercentage"] == 80
    assert "targetCPUUtilizationPercentage" not in complete(annotated)["spec"]


def test_a_pod_for_the_whole_of_which_resources_are_stated_sums_up_its_containers() -> None:
    spec: Plain = {
        "resources": {"limits": {"cpu": "4", "memory": "1Gi", "hugepages-2Mi": "4Mi"}},
        "initContainers": [
            {"name": "i", "image": "i", "resources": {"requests": {"cpu": "3"}}},
            {"name": "s", "image": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
        ],
        "containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "500m"}}}],
    }
    pod = complete({"apiVersion": "v1", "kind": "Pod", "spec": spec})
    assert pod["spec"]["resources"]["requests"] == {"cpu": "3", "memory": "1Gi", "hugepages-2Mi": "4Mi"}


def test_an_address_of_a_pod_is_written_both_ways() -> None:
    one: Plain = {"apiVersion": "v1", "kind": "Pod", "status": {"podIP": "10.1.0.1"}}
    assert complete(one)["status"]["podIPs"] == [{"ip": "10.1.0.1"}]
    many: Plain = {"apiVersion": "v1", "kind": "Pod", "status": {"podIPs": [{"ip": "10.1.0.2"}]}}
    assert complete(many)["status"]["podIP"] == "10.1.0.2"
