"""The cost of one request: time and memory are proportional to its size, whatever it contains."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import logging
import re
import time
import tracemalloc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from masthead_server.clock import VirtualClock
from masthead_server.cluster import ClusterState
from masthead_server.faults import Faults
from masthead_server.resources import names
from masthead_server.resources.catalog import Catalog
from masthead_server.storage import Storage
from masthead_server.verbs.rest import Rest
from masthead_server.verbs.watch import WatchLimits
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.request import ApiRequest, ApiResponse, status_response
from masthead_server.wire.request_info import read_request_info

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

LIMIT = 3 * 1024 * 1024
CPU_SECONDS = 1.5
"""What every request stays far below: a busy machine counts other things too. Before there were limits, each of these
took from six seconds to several minutes, or more memory than there was."""
GROWTH = 20
SPARE = 9 * 1024 * 1024
"""Bytes that even a tiny request may take: a patch may make copies of three megabytes, YAML has its tables."""
MANY = 4_900
"""As many items as the lists of an object may have, nearly."""

V1 = "/api/v1/namespaces/default"
MAPS = f"{V1}/configmaps"
PODS = f"{V1}/pods"
SECRETS = f"{V1}/secrets"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRON_JOBS = "/apis/batch/v1/namespaces/default/cronjobs"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
YAML = "application/yaml"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TOO_LARGE = 413


def written(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def definition(properties: Mapping[str, object]) -> dict[str, object]:
    """A CustomResourceDefinition whose objects have these fields."""
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def config_map(name: str = "a", *, metadata: Mapping[str, object] | None = None, **fields: object) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", **fields, "metadata": {"name": name, **(metadata or {})}}


def pod(*containers: Mapping[str, object], **spec: object) -> dict[str, Any]:
    made = list(containers) or [{"name": "a", "image": "a"}]
    spec = {"containers": made, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}


def secret(certificate: bytes) -> dict[str, Any]:
    data = dict.fromkeys(("tls.crt", "tls.key"), base64.b64encode(certificate).decode())
    kind = "kubernetes.io/tls"
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "type": kind, "data": data}


TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}


def cron_job(schedule: str, **spec: object) -> dict[str, Any]:
    spec = {"schedule": schedule, "jobTemplate": {"spec": {"template": TEMPLATE}}, **spec}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"}, "spec": spec}


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def owners(count: int, **fields: object) -> list[dict[str, object]]:
    return [
        {"apiVersion": "v1", "kind": "Pod", "name": f"a{index}", "uid": f"u{index}", **fields} for index in range(count)
    ]


@dataclass(frozen=True)
class Case:
    """A request, whose large parts are made when it is sent, and the code of its response."""

    title: str
    code: int
    body: Callable[[], object] = bytes
    path: str = MAPS
    method: str = "POST"
    content_type: str = "application/json"
    query: Callable[[], Mapping[str, list[str]]] = lambda: {"dryRun": ["All"]}
    accept: str = ""

    @property
    def request(self) -> ApiRequest:
        headers = {"content-type": self.content_type, "accept": self.accept}
        brought = self.body()
        body = brought if isinstance(brought, bytes) else written(brought)
        assert len(body) <= LIMIT
        return ApiRequest(self.method, self.path, self.query(), headers, body)


def patching(title: str, code: int, body: Callable[[], object], path: str = f"{MAPS}/kept") -> Case:
    return Case(title, code, body, path, "PATCH", JSON_PATCH)


def merging(title: str, code: int, body: Callable[[], object], path: str = f"{MAPS}/kept") -> Case:
    return Case(title, code, body, path, "PATCH", MERGE_PATCH)


def query_case(title: str, code: int, **query: Callable[[], str]) -> Case:
    return Case(title, code, method="GET", query=lambda: {name: [value()] for name, value in query.items()})


def field_of(number: int, held: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(held)) + held


def varint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


def in_protobuf(spec: bytes) -> bytes:
    kind = field_of(1, b"v1") + field_of(2, b"Pod")
    made = field_of(1, field_of(1, b"a")) + field_of(2, spec)
    return b"k8s\0" + field_of(1, kind) + field_of(2, made)


DOUBLING = [{"op": "copy", "from": "/data", "path": f"/data/x{index}"} for index in range(25)]
YAML_HEAD = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: aa}\n"

CASES = [
    Case("a megabyte of text", 201, lambda: config_map(data={"a": "x" * 1_000_000})),
    Case("three megabytes of text", 422, lambda: config_map(data={"a": "x" * 3_000_000})),
    Case(
        "fifty-five thousand keys",
        201,
        lambda: config_map(data={f"k{index}": "v" for index in range(55_000)}),
    ),
    Case(
        "ninety thousand labels",
        201,
        lambda: config_map(metadata={"labels": {f"k{i}": "v" for i in range(55_000)}}),
    ),
    Case(
        "three megabytes of annotations",
        422,
        lambda: config_map(metadata={"annotations": {f"k{i}": "v" * 20 for i in range(55_000)}}),
    ),
    Case("finalizers", 422, lambda: config_map(metadata={"finalizers": [f"k{i}" for i in range(19_000)]})),
    Case("too many", TOO_LARGE, lambda: config_map(metadata={"finalizers": [f"k{i}" for i in range(21_000)]})),
    Case("twenty thousand owners", TOO_LARGE, lambda: config_map(metadata={"ownerReferences": owners(20_000)})),
    Case("many owners", 201, lambda: config_map(metadata={"ownerReferences": owners(MANY)})),
    Case(
        "many controllers",
        422,
        lambda: config_map(metadata={"ownerReferences": owners(MANY, controller=True)}),
    ),
    Case("one owner, many times", 201, lambda: config_map(metadata={"ownerReferences": owners(1) * MANY})),
    Case("a name of three megabytes", 422, lambda: config_map("-" * 3_000_000)),
    Case("a name of signs to be escaped", 422, lambda: config_map("\n" * 1_500_000)),
    Case("the beginning of a name", 422, lambda: config_map("", metadata={"generateName": "a." * 1_500_000})),
    Case("a million objects", TOO_LARGE, lambda: b'{"data":[' + b"{}," * 990_000 + b"{}]}"),
    Case("a million numbers", TOO_LARGE, lambda: b'{"data":[' + b"1," * 1_490_000 + b"1]}"),
    Case("deep", 400, lambda: b"[" * 59_000),
    Case("very deep", TOO_LARGE, lambda: b"[" * 3_000_000),
    Case("as deep as it may be", 201, lambda: nested(190).replace(b'{"a"', b'{"metadata":{"name":"a"},"a"', 1)),
    Case("without an end", 400, lambda: b"[" + b'{"a":{"b":{"c":{"d":{"e":1}}}}},' * 9_000),
    Case(
        "unknown fields",
        201,
        lambda: {**config_map(), **{f"k{index}": 1 for index in range(50_000)}},
    ),
    Case(
        "unknown fields at the end of a long path",
        201,
        lambda: {**config_map(), "x" * 1_000_000: {f"k{index}": 1 for index in range(50_000)}},
    ),
    Case(
        "one key, many times",
        201,
        lambda: b'{"metadata":{"name":"a"},"' + b"x" * 1_000_000 + b'":{' + b'"a":1,' * 55_000 + b'"a":1}}',
    ),
    Case("no UTF-8", 201, lambda: b'{"metadata":{"name":"a"},"data":{"a":"' + b"\xff" * 300_000 + b'"}}'),
    Case("digits", 400, lambda: b'{"metadata":{"name":"a","generation":' + b"1" * 3_000_000 + b"}}"),
    Case("5,000 digits", 400, lambda: b'{"metadata":{"name":"a","generation":' + b"1" * 5_000 + b"}}"),
    Case("many containers", 201, lambda: pod(*({"name": f"a{i}", "image": "a"} for i in range(MANY))), PODS),
    Case("empty containers", 422, lambda: pod(*({} for _ in range(MANY))), PODS),
    Case(
        "ports that might get in each other's way",
        201,
        lambda: pod(
            {
                "name": "a",
                "image": "a",
                "ports": [{"containerPort": 1, "hostPort": i + 1} for i in range(MANY)],
            }
        ),
        PODS,
    ),
    Case(
        "files that might get in each other's way",
        201,
        lambda: pod(
            volumes=[
                {
                    "name": "v",
                    "configMap": {
                        "name": "c",
                        "items": [{"key": f"k{i}", "path": f"p{i}"} for i in range(MANY)],
                    },
                }
            ]
        ),
        PODS,
    ),
    Case("pull secrets", 201, lambda: pod(imagePullSecrets=[{"name": "a"}] * MANY), PODS),
    Case(
        "requests of one claim",
        422,
        lambda: pod(
            {
                "name": "a",
                "image": "a",
                "resources": {"claims": [*({"name": "c", "request": f"r{i}"} for i in range(MANY)), {"name": "c"}]},
            }
        ),
        PODS,
    ),
    Case(
        "mounts beside devices",
        422,
        lambda: pod(
            {
                "name": "a",
                "image": "a",
                "volumeMounts": [{"name": f"v{i}", "mountPath": f"/{i}"} for i in range(MANY // 2)],
                "volumeDevices": [{"name": f"d{i}", "devicePath": f"/d{i}"} for i in range(MANY // 2)],
            }
        ),
        PODS,
    ),
    Case(
        "keys of labels",
        422,
        lambda: pod(
            {"name": "a", "image": "a"},
            topologySpreadConstraints=[{"matchLabelKeys": [f"k{i}" for i in range(MANY)], "labelSelector": {}}],
        ),
        PODS,
    ),
    Case("a long image", 201, lambda: pod({"name": "a", "image": "a-" * 1_400_000}), PODS),
    Case(
        "a long amount",
        400,
        lambda: pod({"name": "a", "image": "a", "resources": {"limits": {"cpu": "1" * 3_000_000}}}),
        PODS,
    ),
    Case(
        "an amount with a huge exponent",
        400,
        lambda: pod({"name": "a", "image": "a", "resources": {"limits": {"cpu": "1e999999999"}}}),
        PODS,
    ),
    Case("certificates without an end", 201, lambda: secret(b"-----BEGIN A-----\n" * 28_000), SECRETS),
    Case("base64 that is invalid at its end", 400, lambda: {"data": {"a": "A" * 2_900_000 + "!"}}, SECRETS),
    Case("@every so many digits", 422, lambda: cron_job("@every " + "1" * 16_000), CRON_JOBS),
    Case("@every so many units", 422, lambda: cron_job("@every " + "1h" * 1_000_000), CRON_JOBS),
    Case("so many minutes", 201, lambda: cron_job("1," * 30_000 + "1 * * * *"), CRON_JOBS),
    Case("a minute of so many digits", 422, lambda: cron_job("1" * 60_000 + " * * * *"), CRON_JOBS),
    Case("a zone that leads elsewhere", 422, lambda: cron_job("* * * * *", timeZone="../.."), CRON_JOBS),
    Case("a zone that is a folder", 422, lambda: cron_job("* * * * *", timeZone="Europe"), CRON_JOBS),
    Case("a zone of a megabyte", 422, lambda: cron_job("* * * * *", timeZone="a/" * 500_000 + "a"), CRON_JOBS),
    merging(
        "a range of two billion indexes",
        422,
        lambda: {"status": {"completedIndexes": "0-30000000", "failedIndexes": "5-1999999999"}},
        f"{JOBS}/kept/status",
    ),
    merging(
        "many indexes",
        200,
        lambda: {
            "status": {
                "completedIndexes": ",".join(str(2 * index) for index in range(30_000)),
                "failedIndexes": ",".join(str(2 * index + 1) for index in range(30_000)),
            }
        },
        f"{JOBS}/kept/status",
    ),
    patching("copies that double", 422, lambda: DOUBLING),
    patching("as many copies as there may be operations", 422, lambda: [DOUBLING[0]] * 10_000),
    patching("too many operations", TOO_LARGE, lambda: [{"op": "remove", "path": "/data/a"}] * 10_001),
    patching("tests", 200, lambda: [{"op": "test", "path": "/data/a", "value": "x" * 1_000}] * 2_900),
    patching("a test of all of it", 422, lambda: [{"op": "test", "path": "", "value": {}}] * 10_000),
    patching(
        "elements before others",
        TOO_LARGE,
        lambda: [{"op": "add", "path": "/data/l/0", "value": 1}] * 10_000,
        f"{REVISIONS}/long",
    ),
    patching(
        "copies into themselves",
        422,
        lambda: [{"op": "copy", "from": "/data", "path": f"/data{'/a' * 190}/b"}] * 30,
        f"{REVISIONS}/deep",
    ),
    patching("a path of a million steps", 422, lambda: [{"op": "remove", "path": "/a" * 1_400_000}]),
    merging("a deep merge patch", 400, lambda: nested(700)),
    merging("a merge patch as deep as it may be", 200, lambda: nested(190)),
    merging("many members", 200, lambda: {"data": {f"k{index}": "v" for index in range(55_000)}}),
    Case(
        "aliases of one scalar",
        TOO_LARGE,
        lambda: (
            YAML_HEAD + b"data:\n  a: &a " + b"x" * 100_000 + b"\n" + b"".join(b"  b%d: *a\n" % i for i in range(3_000))
        ),
        content_type=YAML,
    ),
    Case("YAML of a million values", TOO_LARGE, lambda: b"a: [" + b"a," * 1_490_000 + b"]", content_type=YAML),
    Case("YAML of a million brackets", 400, lambda: b"[" * 3_000_000, content_type=YAML),
    Case("YAML of a million dashes", 400, lambda: b"- " * 1_500_000, content_type=YAML),
    Case("YAML of a million lines", 422, lambda: b"\n" * 3_000_000, content_type=YAML),
    Case("a number in YAML", 400, lambda: YAML_HEAD + b"x: " + b"1" * 3_000_000, content_type=YAML),
    Case("a hexadecimal number in YAML", 400, lambda: YAML_HEAD + b"x: 0x" + b"1" * 5_000, content_type=YAML),
    Case("a list that holds itself", 400, lambda: b"a: &a [" + b"*a," * 1_000 + b"]", content_type=YAML),
    Case(
        "messages of two bytes",
        TOO_LARGE,
        content_type=PROTOBUF,
        path=PODS,
        body=lambda: in_protobuf(b"\x12\x00" * 1_400_000),
    ),
    query_case(
        "a label selector",
        TOO_LARGE,
        labelSelector=lambda: ",".join(f"k{index}=v" for index in range(100_000)),
    ),
    query_case("a set in a label selector", TOO_LARGE, labelSelector=lambda: f"a in ({'b,' * 300_000}c)"),
    query_case("a field selector", TOO_LARGE, fieldSelector=lambda: "metadata.name=" + "\\\\" * 500_000),
    query_case("a limit", 400, limit=lambda: "1" * 1_000_000),
    query_case("a version", 400, resourceVersion=lambda: "1" * 1_000_000),
    query_case("a token", 400, **{"continue": lambda: "A" * 1_000_000}),
    Case(
        "options of a deletion",
        200,
        lambda: {"dryRun": ["All"] * 55_000},
        f"{MAPS}/kept",
        "DELETE",
        query=dict,
    ),
    Case(
        "seconds of so many digits",
        400,
        lambda: b'{"gracePeriodSeconds":' + b"1" * 1_000_000 + b"}",
        f"{MAPS}/kept",
        "DELETE",
        query=dict,
    ),
    Case(
        "a schema of many fields",
        201,
        lambda: definition({f"f{index}": {"type": "string"} for index in range(28_000)}),
        DEFINITIONS,
    ),
    Case(
        "a schema of many defaults",
        201,
        lambda: definition({f"f{index}": {"type": "string", "default": "x"} for index in range(5_000)}),
        DEFINITIONS,
    ),
    Case(
        "a schema of many mistakes",
        422,
        lambda: definition({f"f{index}": {} for index in range(28_000)}),
        DEFINITIONS,
    ),
    Case(
        "patterns that are large together",
        422,
        lambda: definition(
            {f"f{index}": {"type": "string", "pattern": f"{'a{1000}' * 19}{index}"} for index in range(4_000)}
        ),
        DEFINITIONS,
    ),
    Case(
        "a schema that nests deeply",
        422,
        lambda: definition({"f": json.loads('{"type":"array","items":' * 150 + "{}" + "}" * 150)}),
        DEFINITIONS,
    ),
    Case("a deep object as YAML", 200, path=f"{REVISIONS}/deep", method="GET", query=dict, accept=YAML),
    Case("a long object as YAML", 200, path=f"{REVISIONS}/long", method="GET", query=dict, accept=YAML),
]


@pytest.fixture(scope="module")
def rest() -> Iterator[Rest]:
    """A request handler without HTTP, and with objects for those that change some."""
    cluster = ClusterState(Storage(), VirtualClock(), catalog := Catalog.builtin())
    cluster.add_first_namespaces()
    made = Rest(cluster, Faults(catalog), WatchLimits(), lambda: None)
    job = {
        "completions": 2_000_000_000,
        "completionMode": "Indexed",
        "backoffLimitPerIndex": 1,
        "maxFailedIndexes": 10_000,
        "template": TEMPLATE,
    }
    revision = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1}
    deep: dict[str, Any] = json.loads(nested(190))
    for path, found in (
        (MAPS, config_map("kept", data={"a": "x" * 1_000})),
        (JOBS, {"metadata": {"name": "kept"}, "spec": job}),
        (REVISIONS, {**revision, "metadata": {"name": "deep"}, "data": deep}),
        (REVISIONS, {**revision, "metadata": {"name": "long"}, "data": {"l": [1] * 55_000}}),
    ):
        assert response_of(made, ApiRequest("POST", path, {}, {}, written(found))).code == 201
    logging.disable(logging.CRITICAL)
    yield made
    logging.disable(logging.NOTSET)
    _loop.close()


_loop = asyncio.new_event_loop()


def response_of(rest: Rest, request: ApiRequest) -> ApiResponse:
    info = read_request_info(request)
    try:
        # Not asyncio.run: its handling of SIGINT formats the result of the task, which takes four times the memory.
        found = _loop.run_until_complete(rest.respond(request, info))
    except StatusFailure as failure:
        return status_response(failure)
    assert isinstance(found, ApiResponse)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_no_request_takes_long_or_much(rest: Rest, case: Case) -> None:
    request = case.request

    start = time.process_time()
    code = response_of(rest, request).code
    taken = time.process_time() - start

    gc.collect()
    tracemalloc.start()
    try:
        response_of(rest, request)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert code == case.code
    assert taken < CPU_SECONDS
    size = len(request.body) + sum(len(value) for values in request.query.values() for value in values)
    assert peak < GROWTH * size + SPARE


@pytest.mark.slow
def test_rejected_names_use_no_memory(rest: Rest) -> None:
    def refuse(number: int) -> None:
        body = written(config_map(f"-{number}" * 20_000, metadata={"labels": {f"-{number}" * 20_000: "a"}}))
        assert response_of(rest, ApiRequest("POST", MAPS, {}, {}, body)).code == 422

    refuse(0)
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(1, 50):
            refuse(number)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 200_000


@pytest.mark.parametrize("rule", [names.SUBDOMAIN, names.LABEL, names.LABEL_1035, names.LABEL_VALUE])
@pytest.mark.parametrize("value", ["a", "a-", "-a", "", "a.b", "A", "a_b", "a" * 300, "-" * 300, "a." * 200])
def test_the_fast_pattern_matches_the_same_names_as_the_printed_one(rule: names.Format, value: str) -> None:
    assert rule.matches(value) == (re.fullmatch(rule.pattern, value) is not None)
