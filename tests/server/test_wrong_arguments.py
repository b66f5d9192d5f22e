"""Controls of a server with wrong arguments: each is refused where it is called, and nothing changes."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import PODS, Caller

import masthead.server
from masthead.errors import ArgumentError, ConfigError, NotFoundError, QuantityError
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.server import Server

Call = Callable[[Any], object]
ERRORS = (TypeError, ValueError, ConfigError, NotFoundError)

WHOLE = "must be a whole number"
TEXT = "must be text"
NAMED = "name them as name, as namespace/name, or \\* for all"

# Each name says which control gets which argument; a message says what is allowed.
KUBELET: dict[str, tuple[Call, type[Exception], str]] = {
    "restart with text as code": (lambda kubelet: kubelet.restart("web", exit_code="a"), TypeError, WHOLE),
    "restart with a bool as code": (lambda kubelet: kubelet.restart("web", exit_code=True), TypeError, WHOLE),
    "crash with a negative code": (lambda kubelet: kubelet.crash("web", exit_code=-5), ArgumentError, "from 0 to 255"),
    "fail with a large code": (lambda kubelet: kubelet.fail("web", exit_code=999), ArgumentError, "from 0 to 255"),
    "fail with a fraction": (lambda kubelet: kubelet.fail("web", exit_code=1.5), TypeError, WHOLE),
    "fail with success": (lambda kubelet: kubelet.fail("web", exit_code=0), ArgumentError, "call succeed instead"),
    "crash loop of None": (lambda kubelet: kubelet.crash_loop("web", exit_code=None), TypeError, WHOLE),
    "a reason": (lambda kubelet: kubelet.restart("web", reason=5), TypeError, f"reason {TEXT}"),
    "a reason of a failure": (lambda kubelet: kubelet.fail("web", reason=5), TypeError, f"reason {TEXT}"),
    "a message": (lambda kubelet: kubelet.crash("web", message=b"x"), TypeError, f"message {TEXT}"),
    "a message of an eviction": (lambda kubelet: kubelet.evict("web", message=5), TypeError, f"message {TEXT}"),
    "an output": (lambda kubelet: kubelet.fail_liveness("web", output=5), TypeError, f"output {TEXT}"),
    "readiness": (lambda kubelet: kubelet.set_ready("web", "maybe"), TypeError, "is_ready must be True or False"),
    "a start": (lambda kubelet: kubelet.set_started("web", 1), TypeError, "is_started must be True or False"),
    "a container that crashes": (
        lambda kubelet: kubelet.crash("web", container="zz"),
        ArgumentError,
        "the pod default/web has no container 'zz'; there are setup, app",
    ),
    "a ready container": (lambda kubelet: kubelet.set_ready("web", True, container="zz"), ArgumentError, "'zz'"),
    "a started container": (lambda kubelet: kubelet.set_started("web", True, container="zz"), ArgumentError, "'zz'"),
    "an unhealthy container": (lambda kubelet: kubelet.fail_liveness("web", container="zz"), ArgumentError, "'zz'"),
    "a container without memory": (lambda kubelet: kubelet.oom("web", container="zz"), ArgumentError, "'zz'"),
    "a container to restart": (lambda kubelet: kubelet.restart("web", container="zz"), ArgumentError, "'zz'"),
    "a container in a loop": (lambda kubelet: kubelet.crash_loop("web", container="zz"), ArgumentError, "'zz'"),
    "a container with a log": (lambda kubelet: kubelet.log("web", container="zz").print("a"), ArgumentError, "'zz'"),
    "a container with files": (lambda kubelet: list(kubelet.files("web", container="zz")), ArgumentError, "'zz'"),
    "an empty container": (lambda kubelet: kubelet.crash("web", container=""), ArgumentError, "container is empty"),
    "a number as container": (lambda kubelet: kubelet.crash("web", container=5), TypeError, f"container {TEXT}"),
    "a number as pod": (lambda kubelet: kubelet.start(5), TypeError, "the pod must be its name, or an object, not 5"),
    "a name with three parts": (lambda kubelet: kubelet.start("a/b/c"), ArgumentError, "name a pod as name"),
    "a kind of probe": (
        lambda kubelet: kubelet.probe("web", kind="foo"),
        ArgumentError,
        "kind must be one of startup, readiness, liveness, not 'foo'",
    ),
    "a probe without function": (lambda kubelet: kubelet.probe("web")(5), TypeError, "a handler is a function, not 5"),
    "a process without function": (lambda kubelet: kubelet.main("web")(5), TypeError, "a handler is a function"),
    "a command without function": (lambda kubelet: kubelet.exec("web")(None), TypeError, "a handler is a function"),
    "an empty pattern": (lambda kubelet: kubelet.exec(""), ArgumentError, NAMED),
    "a pattern with a prefix": (lambda kubelet: kubelet.main("web-*"), ArgumentError, f"'web-\\*' .*{NAMED}"),
    "a pattern with three parts": (lambda kubelet: kubelet.attach("a/b/c"), ArgumentError, NAMED),
    "an object as pattern": (lambda kubelet: kubelet.main(5), TypeError, f"the pod {TEXT}"),
    "an empty command": (lambda kubelet: kubelet.exec("web", command=""), ArgumentError, "the command is empty"),
    "a number as image": (lambda kubelet: kubelet.fail_pull(5), TypeError, f"image {TEXT}"),
    "a number as error": (lambda kubelet: kubelet.fail_pull("a", error=5), TypeError, f"error {TEXT}"),
    "an image that does not fail": (lambda kubelet: kubelet.allow_pull("shop:9"), ArgumentError, "'shop:9'; .*shop:1"),
    "a limit of a log": (lambda kubelet: setattr(kubelet, "log_limit", -1), ArgumentError, "at least 0"),
    "a limit of files": (lambda kubelet: setattr(kubelet, "file_limit", "1Mi"), TypeError, WHOLE),
    "a number as output of a log": (lambda kubelet: kubelet.log("web").write(5), TypeError, "text or bytes, not 5"),
    "text in a file": (lambda kubelet: kubelet.files("web").update({"/a": "b"}), TypeError, "must be bytes, not 'b'"),
    "a number in a file": (lambda kubelet: kubelet.files("web").update({"/a": 5}), TypeError, "must be bytes, not 5"),
    "a number as file": (lambda kubelet: kubelet.files("web").get(5), TypeError, f"path of a file {TEXT}"),
    "text as port": (lambda kubelet: kubelet.listen("web", "80", 80), TypeError, "a port must be a whole number"),
    "port 0": (lambda kubelet: kubelet.listen("web", 80, 0), ArgumentError, "from 1 to 65535, not 0"),
    "True as port": (lambda kubelet: kubelet.listen("web", 80, True), TypeError, "a port must be a whole number"),
    "text as target": (lambda kubelet: kubelet.listen("web", 80, "db"), TypeError, "or a function listens, not 'db'"),
    "three parts as target": (lambda kubelet: kubelet.listen("web", 80, ("a", 1, 2)), TypeError, "listens, not"),
    "numbers as target": (lambda kubelet: kubelet.listen("web", 80, (1, 2)), TypeError, "listens, not"),
    "an empty node": (lambda kubelet: kubelet.listen_on_node("", 80), ArgumentError, "the node is empty"),
    "a number as node": (lambda kubelet: kubelet.nodes.fail(5), TypeError, "the node must be its name"),
    "an unknown node": (lambda kubelet: kubelet.nodes.recover("zz"), NotFoundError, "zz"),
}
METRICS: dict[str, tuple[Call, type[Exception], str]] = {
    "a negative usage": (lambda metrics: metrics.set_pod("web", cpu=-5), ArgumentError, "cpu is a usage, 0 or more"),
    "negative memory": (lambda metrics: metrics.set_pod("web", memory="-1Mi"), ArgumentError, "not -1Mi"),
    "a usage that is none": (lambda metrics: metrics.set_pod("web", cpu="much"), QuantityError, "much"),
    "True as usage": (lambda metrics: metrics.set_pod("web", cpu=True), TypeError, "or a number, not True"),
    "an empty pod": (lambda metrics: metrics.set_pod("", cpu="1"), ArgumentError, "the pod is empty"),
    "a number as pod": (lambda metrics: metrics.set_pod(5, cpu="1"), TypeError, f"the pod {TEXT}, not 5"),
    "an empty namespace": (lambda metrics: metrics.set_pod("web", cpu=1, namespace=""), ArgumentError, "is empty"),
    "a number as container": (lambda metrics: metrics.set_pod("web", cpu=1, container=5), TypeError, TEXT),
    "an unknown kind": (
        lambda metrics: metrics.set_object("hits", 1, kind="Ingres"),
        ArgumentError,
        "serves no kind 'Ingres'; the nearest is 'Ingress'",
    ),
    "an empty metric": (lambda metrics: metrics.set_object("", 1), ArgumentError, "the metric is empty"),
    "a list as value": (lambda metrics: metrics.set_object("hits", [1]), TypeError, "or a number, not"),
    "labels that are no texts": (lambda metrics: metrics.set_external("q", 1, labels={"a": 1}), TypeError, "labels"),
    "labels that are no mapping": (lambda metrics: metrics.set_external("q", 1, labels="a"), TypeError, "labels"),
    "a number as metric": (lambda metrics: metrics.set_external(5, 1), TypeError, f"the metric {TEXT}"),
}
FAULTS: dict[str, tuple[Call, type[Exception], str]] = {
    "text as code": (lambda faults: faults.fail("x"), TypeError, f"code {WHOLE}"),
    "a fraction as code": (lambda faults: faults.fail(503.0), TypeError, f"code {WHOLE}"),
    "a number as message": (lambda faults: faults.fail(503, message=5), TypeError, f"message {TEXT}"),
    "a number as reason": (lambda faults: faults.fail(503, reason=5), TypeError, f"reason {TEXT}"),
    "a time in the past": (lambda faults: faults.fail(503, retry_after=-1), ArgumentError, "at least 0"),
    "a negative throttle": (lambda faults: faults.throttle(retry_after=-3), ArgumentError, "at least 0, not -3"),
    "text as throttle": (lambda faults: faults.throttle(retry_after="3"), TypeError, WHOLE),
    "text as times": (lambda faults: faults.conflict(times="x"), TypeError, "or None for every request"),
    "True as times": (lambda faults: faults.conflict(times=True), TypeError, "or None for every request"),
    "text as delay": (lambda faults: faults.delay("x"), TypeError, "seconds must be a number"),
    "text as events": (lambda faults: faults.drop_watch(after="x"), TypeError, f"after {WHOLE}"),
    "text as bookmarks": (lambda faults: faults.repeat_bookmarks("x"), TypeError, f"count {WHOLE}"),
    "text as revisions": (lambda faults: faults.stale_lists("x"), TypeError, f"by {WHOLE}"),
    "text as revision": (lambda faults: faults.freeze("x"), TypeError, f"revision {WHOLE}"),
    "text as first revision": (lambda faults: faults.hold_events(after_revision="x"), TypeError, WHOLE),
    "a number as held name": (lambda faults: faults.hold_events(5), TypeError, f"name {TEXT}"),
    "a number as name": (lambda faults: faults.fail(503, name=5), TypeError, f"name {TEXT}"),
    "a number as verb": (lambda faults: faults.fail(503, verb=5), TypeError, "verb must be a list of texts"),
    "None as resource": (lambda faults: faults.fail(503, resource=None), TypeError, f"resource {TEXT}"),
    "text as nth": (lambda faults: faults.fail(503, nth="x"), TypeError, f"nth {WHOLE}"),
    "text as skip": (lambda faults: faults.fail(503, skip="x"), TypeError, f"skip {WHOLE}"),
    "text as close code": (lambda faults: faults.close_stream("x"), TypeError, f"code {WHOLE}"),
    "text as message": (lambda faults: faults.insert_message("x"), TypeError, "data must be bytes"),
    "text as direction": (lambda faults: faults.drop_stream(received="yes"), TypeError, "received must be True or"),
    "text as timeout": (lambda faults: faults.fail(503).block_until_hit(timeout="x"), TypeError, "timeout must be a"),
}
SERVER: dict[str, tuple[Call, type[Exception], str]] = {
    "text as seconds": (lambda server: server.advance("x"), TypeError, "seconds must be a number, not 'x'"),
    "no number of seconds": (lambda server: server.advance(math.nan), ValueError, "seconds must be a number, not nan"),
    "endless seconds": (lambda server: server.advance(math.inf), ValueError, "ends with the year 9999"),
    "too many seconds": (lambda server: server.advance(1e12), ValueError, "ends with the year 9999"),
    "seconds back": (lambda server: server.advance(-1), ValueError, "time does not go back"),
    "a number as credentials": (lambda server: server.kubeconfig(5), TypeError, "credentials must be a token, or a"),
    "an empty token": (lambda server: server.kubeconfig(""), ArgumentError, "the token is empty"),
    "a number as path": (lambda server: server.write_kubeconfig(5), TypeError, "path must be a path"),
    "a number as user": (lambda server: server.client_certificate(5), TypeError, f"user {TEXT}"),
    "text as groups": (lambda server: server.client_certificate("jane", "developers"), TypeError, "a list of texts"),
    "a number as lifetime": (lambda server: server.client_certificate("jane", lifetime=5), TypeError, "a timedelta"),
    "no lifetime": (lambda server: server.client_certificate("jane", lifetime=timedelta()), ArgumentError, "positive"),
    "a number as object": (lambda server: server.history(5), TypeError, "such as Pod.new"),
    "text as revision": (lambda server: server.dump("x"), TypeError, f"revision {WHOLE}"),
    "text as first revision": (lambda server: server.changes("x"), TypeError, f"since {WHOLE}"),
    "a later revision": (lambda server: server.compact(10**9), ArgumentError, "revision must be a whole number, from"),
    "text as compaction": (lambda server: server.compact("x"), TypeError, f"revision {WHOLE}"),
    "text as resource": (lambda server: server.versions("pods"), TypeError, "a GroupVersionResource, not 'pods'"),
    "a number as service": (lambda server: server.listen_on_service(5, 80), TypeError, f"service {TEXT}"),
    "a service without namespace": (lambda server: server.listen_on_service("/a", 80), ValueError, "'' is no name"),
    "text as port": (lambda server: server.listen_on_service("a", 80, port="x"), TypeError, "a port must be a whole"),
    "text as target": (lambda server: server.listen_on_service("a", "x"), TypeError, "a host and a port"),
    "text as delay": (lambda server: server.delay_controller("garbage", "x"), TypeError, "seconds must be a number"),
    "text as timeout": (lambda server: server.block_until_idle(timeout="x"), TypeError, "timeout must be a number"),
    "a timeout in the past": (lambda server: server.block_until_idle(timeout=-1), ArgumentError, "0 or more, not -1"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with a pod, for all these calls, which change nothing."""
    with masthead.server.run(clock=VirtualClock, token=None, bootstrap=False, record_changes=True) as running:
        container = {"name": "app", "image": "app"}
        spec = {"containers": [container], "initContainers": [{**container, "name": "setup"}]}
        caller = Caller(running.url)
        caller.call("POST", PODS, {"metadata": {"name": "web"}, "spec": spec})
        caller.close()
        running.kubelet.fail_pull("shop:1")
        running.block_until_idle()
        yield running


def check(server: Server, target: object, case: tuple[Call, type[Exception], str]) -> None:
    call, kind, message = case
    before = server.revision, len(list(server.faults))
    with pytest.raises(kind, match=message) as refused:
        call(target)
    assert isinstance(refused.value, ERRORS)
    server.block_until_idle()
    server.faults.clear()
    assert server.revision == before[0]


@pytest.mark.parametrize("name", KUBELET)
def test_the_kubelet_refuses_it(server: Server, name: str) -> None:
    check(server, server.kubelet, KUBELET[name])


@pytest.mark.parametrize("name", METRICS)
def test_metrics_refuse_it(server: Server, name: str) -> None:
    check(server, server.metrics, METRICS[name])


@pytest.mark.parametrize("name", FAULTS)
def test_faults_refuse_it(server: Server, name: str) -> None:
    check(server, server.faults, FAULTS[name])


@pytest.mark.parametrize("name", SERVER)
def test_the_server_refuses_it(server: Server, name: str) -> None:
    check(server, server, SERVER[name])


@pytest.mark.parametrize(("start", "kind"), [("2026-01-01", TypeError), (datetime(2026, 1, 1), ArgumentError)])  # noqa: DTZ001 - the mistake
def test_a_virtual_clock_refuses_a_start_that_is_no_moment(start: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="time zone"):
        VirtualClock(start)


def test_metrics_of_objects_and_of_external_systems_may_be_negative(server: Server) -> None:
    server.metrics.set_object("temperature", "-4", kind="Node", name="masthead-node")
    server.metrics.set_external("balance", -0.5)
    server.metrics.clear()
