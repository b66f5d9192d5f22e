"""Events that recorders write: what a real server keeps of them, what kubectl shows, and the embedded server beside
it."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.real_server import ASSETS, RestartableServer, missing_programs, wait_until
from tests.server.kubectl import KUBECTL

import masthead
import masthead.aio

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real.both_servers import Access, BothServers
    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]

Plain = dict[str, Any]


class Clock:
    """Ten hours ago, and a second later each time: of so long ago, kubectl shows whole hours."""

    def __init__(self) -> None:
        self._now = datetime.now(UTC) - timedelta(hours=10, minutes=30)

    def __call__(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now


def config_of(server: RealServer) -> masthead.Config:
    return masthead.Config(server=server.url, token=server.token, ca_file=server.ca_file)


def fill(client: masthead.Client, namespace: str) -> masthead.record.EventCounts:
    """Record a bit of everything."""
    site = client.core_v1.config_maps(namespace).create({"metadata": {"name": "site"}})
    other = client.core_v1.config_maps(namespace).create({"metadata": {"name": f"{'long' * 60}.name"}})
    with masthead.EventRecorder(client, "example.com/operator", host="node-1", clock=Clock()) as recorder:
        recorder.record(site, "Normal", "Created", "Created ConfigMap site", action="Creating", related=other)
        for _ in range(5):
            recorder.record(site, "Warning", "BackOff", "Back-off restarting")
            recorder.flush()
        for number in range(12):
            recorder.record(site, "Warning", "Failed", f"attempt {number} failed")
            recorder.flush()
        for number in range(30):
            recorder.record(other, "Normal", f"Reason{number}", "ü" * 2000)
        recorder.flush()
        assert recorder.flush()
    return recorder.counts


def normalised(event: Plain) -> Plain:
    """An Event without what differs from run to run."""
    meta = event["metadata"]
    name, _, nanos = meta["name"].rpartition(".")
    made: Plain = json.loads(json.dumps(event))
    made["metadata"] = {"name": f"{name[:50]}.{len(nanos)}", "namespace": meta["namespace"]}
    for key in ("regarding", "involvedObject", "related"):
        if key in made:
            made[key] = {**made[key], "uid": "", "resourceVersion": ""}
    for path in ("eventTime", "series.lastObservedTime", "firstTimestamp", "lastTimestamp"):
        *outer, key = path.split(".")
        where = made[outer[0]] if outer and outer[0] in made else made
        if where.get(key):
            where[key] = len(where[key])
    return made


def stored(client: masthead.Client, namespace: str, api: str) -> list[Plain]:
    """The Events of a namespace in one of the APIs, in the order of their creation."""
    found = [json.loads(event.to_json()) for event in client.dynamic(api, "events", namespace=namespace).list()]
    return [normalised(each) for each in sorted(found, key=lambda each: each["metadata"]["name"].rpartition(".")[2])]


def test_both_servers_keep_the_same(both: BothServers) -> None:
    kept: list[Any] = []
    for access in (both.real, both.embedded):
        with masthead.Client(kubeconfig=access.kubeconfig) as client:
            counts = fill(client, both.namespace)
            apis = [stored(client, both.namespace, api) for api in ("events.k8s.io/v1", "v1")]
            kept.append((counts, *apis))
    (counts, new, _), (_, ours, _) = kept
    assert ours == new
    assert kept[0] == kept[1]
    assert (counts.filtered, counts.failed, counts.dropped) == (5, 0, 0)
    found = {
        (event["reason"], event["note"]): event.get("series", {}).get("count", 1)
        for event in new
        if not event["reason"].startswith("Reason")
    }
    assert found == {
        ("Created", "Created ConfigMap site"): 1,
        ("BackOff", "Back-off restarting"): 5,
        **{("Failed", f"attempt {number} failed"): 1 for number in range(9)},
        ("Failed", "(combined from similar events): attempt 9 failed"): 3,
    }
    assert len([event for event in new if event["reason"].startswith("Reason")]) == 25


def shown(access: Access, *words: str) -> str:
    done = access.run([str(KUBECTL), *words])
    assert done.code == 0, done.stderr
    return re.sub(r"\.[0-9a-f]{16}\b", ".<nanos>", done.stdout)


@pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here")
def test_kubectl_shows_what_was_recorded(both: BothServers) -> None:
    for access in (both.real, both.embedded):
        with masthead.Client(kubeconfig=access.kubeconfig) as client:
            site = client.core_v1.config_maps(both.namespace).create({"metadata": {"name": "site"}})
            with masthead.EventRecorder(client, "operator", clock=Clock()) as recorder:
                recorder.record(site, "Normal", "Created", "Created ConfigMap site")
                for _ in range(7):
                    recorder.record(site, "Warning", "BackOff", "Back-off restarting")
                    recorder.flush()
    commands = (
        ("get", "events", "--sort-by=.metadata.name"),
        ("get", "events", "-o", "wide", "--sort-by=.metadata.name"),
        ("describe", "configmap", "site"),
        ("events", "--for=configmap/site"),
    )
    texts = [shown(both.real, "-n", both.namespace, *command) for command in commands]
    assert [shown(both.embedded, "-n", both.namespace, *command) for command in commands] == texts
    listed, wide, described, events = texts
    assert re.search(r"10h +Normal +Created +configmap/site +Created ConfigMap site", listed)
    assert re.search(r"10h +Warning +BackOff +configmap/site +Back-off restarting", listed)
    assert "operator" in wide
    assert re.search(r"Warning +BackOff +10h \(x7 over 10h\) +operator +Back-off restarting", described)
    assert re.search(r"10h \(x7 over 10h\) +Warning +BackOff", events)


def test_the_advice_about_permissions_is_right(real_server: RealServer, caplog: pytest.LogCaptureFixture) -> None:
    with masthead.Client(config_of(real_server)) as admin:
        admin.core_v1.namespaces().create({"metadata": {"name": "rbac"}})
        site = admin.core_v1.config_maps("rbac").create({"metadata": {"name": "site"}})
        with (
            masthead.Client(config_of(real_server), impersonate="somebody") as client,
            masthead.EventRecorder(client, "operator") as recorder,
        ):
            recorder.record(site, "Normal", "Created", "forbidden")
            assert recorder.flush()
            (message,) = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
            assert recorder.counts.failed == 1
            rule = re.search(r"apiGroups: (\[.*?\]), resources: (\[.*?\]), verbs: (\[.*?\])\.", message)
            assert rule is not None
            groups, resources, verbs = map(json.loads, rule.groups())
            rules = [{"apiGroups": groups, "resources": resources, "verbs": verbs}]
            admin.rbac_v1.roles("rbac").create({"metadata": {"name": "events"}, "rules": rules})
            admin.rbac_v1.role_bindings("rbac").create(
                {
                    "metadata": {"name": "events"},
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "events"},
                    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "somebody"}],
                }
            )
            attributes = {
                "namespace": "rbac",
                "verb": "create",
                "group": "events.k8s.io",
                "resource": "events",
            }
            review = {"spec": {"resourceAttributes": attributes}}
            reviews = client.authorization_v1.self_subject_access_reviews()
            assert wait_until(lambda: reviews.create(review).status.allowed)
            for _ in range(3):
                recorder.record(site, "Normal", "Created", "allowed")
                assert recorder.flush()
            assert recorder.counts.failed == 1
        (event,) = admin.events_v1.events("rbac").list()
        assert event.series is not None
        assert (event.note, event.series.count) == ("allowed", 3)


def test_a_namespace_that_ends_needs_nobodys_attention(
    real_server: RealServer, caplog: pytest.LogCaptureFixture
) -> None:
    with masthead.Client(config_of(real_server)) as client:
        client.core_v1.namespaces().create({"metadata": {"name": "ends"}})
        site = client.core_v1.config_maps("ends").create({"metadata": {"name": "site"}})
        client.core_v1.namespaces().delete("ends")  # for ever: nobody empties it here
        gone = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web", "namespace": "never", "uid": "7"},
        }
        with masthead.EventRecorder(client, "operator") as recorder:
            recorder.record(site, "Normal", "Deleting", "in a namespace that ends")
            recorder.record(gone, "Normal", "Deleting", "in a namespace that is gone")
            assert recorder.flush()
            assert recorder.counts.failed == 2
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_an_old_server_gets_core_v1_events(tmp_path: Path) -> None:
    if missing := missing_programs():
        pytest.skip(f"there is no {' and no '.join(missing)} in {ASSETS}")
    with (
        RestartableServer(tmp_path, {"runtime-config": "events.k8s.io/v1=false"}) as old,
        masthead.Client(config_of(old.server)) as client,
    ):
        namespace = client.core_v1.namespaces().get("default")
        with masthead.EventRecorder(client, "operator", host="node-1", clock=Clock()) as recorder:
            for _ in range(5):
                recorder.record(namespace, "Warning", "BackOff", "Back-off")
                recorder.flush()
            for number in range(12):
                recorder.record(namespace, "Normal", "Failed", f"attempt {number}")
                recorder.flush()
        found = {
            event.message: (event.count, (event.source.component, event.source.host))
            for event in client.core_v1.events("default").list()
            if event.reason in ("BackOff", "Failed")
        }
        source = ("operator", "node-1")
        assert found == {
            "Back-off": (5, source),
            **{f"attempt {number}": (1, source) for number in range(9)},
            "(combined from similar events): attempt 11": (3, source),
        }


async def test_the_async_recorder_writes_to_a_real_server(real_server: RealServer) -> None:
    async with masthead.aio.Client(config_of(real_server)) as client:
        await client.core_v1.namespaces().create({"metadata": {"name": "coroutines"}})
        site = await client.core_v1.config_maps("coroutines").create({"metadata": {"name": "site"}})
        async with masthead.aio.EventRecorder(client, "operator") as recorder:
            for _ in range(100):
                recorder.record(site, "Normal", "Repeated", "again")
        (event,) = await client.events_v1.events("coroutines").list()
        assert event.series is not None
        assert event.series.count == 100
