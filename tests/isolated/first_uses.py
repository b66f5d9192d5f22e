"""A program whose threads use types for the first time, all at once: ``python first_uses.py SEED``.

One-time initialisation can fail only once per process, and a test in a warm process never sees it. So this is a program
that is started many times. The seed determines the number of threads, their actions and order, and the switch interval.
It imports nothing of the project before the threads run (or only the package without its types). It prints every
problem, and its exit status is 1 if there was one.
"""

from __future__ import annotations

import copy
import importlib
import json
import pickle
import random
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_TURNS: Final = (1e-6, 1e-5, 1e-4, 5e-3)
"""Switch intervals in seconds; the last is Python's default."""
_TIMEOUT: Final = 60


def pod(more: Mapping[str, object] = {}) -> dict[str, Any]:
    """A pod as a server encodes it, which uses a hundred types."""
    container = {
        "name": "web",
        "image": "nginx",
        "ports": [{"containerPort": 80}],
        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "resources": {"limits": {"cpu": "500m"}},
        "livenessProbe": {"httpGet": {"path": "/", "port": "http"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default", "uid": "1", "labels": {"app": "web"}},
        "spec": {"containers": [container], "volumes": [{"name": "v", "emptyDir": {}}], **more},
        "status": {
            "phase": "Running",
            "startTime": "2026-01-02T03:04:05Z",
            "conditions": [{"type": "Ready"}],
        },
    }


def text_of(data: object) -> bytes:
    """The data as a server would send it."""
    return json.dumps(data, separators=(",", ":")).encode()


def check_pod(found: Any) -> None:
    """Read the important fields of a pod."""
    assert found.spec.containers[0].image == "nginx", found
    assert found.spec.containers[0].ports[0].container_port == 80
    assert str(found.spec.containers[0].resources.limits["cpu"]) == "500m"
    assert found.status.start_time.year == 2026
    assert found.metadata.labels == {"app": "web"}


def core() -> Any:
    """The module of core/v1, imported when a thread first uses it."""
    return importlib.import_module("masthead.api.core.v1")


def from_wire(_: random.Random) -> None:
    check_pod(core().Pod.from_wire(text_of(pod())))


def from_json(_: random.Random) -> None:
    check_pod(core().Pod.from_json(text_of(pod())))


def from_dict(_: random.Random) -> None:
    check_pod(core().Pod.from_dict(pod()))


def from_yaml(_: random.Random) -> None:
    check_pod(core().Pod.from_yaml(text_of(pod())))


def new(_: random.Random) -> None:
    data = pod()
    made = core().Pod.new("web", labels={"app": "web"}, spec=data["spec"], status=data["status"])
    check_pod(made)
    assert json.loads(made.to_json())["spec"]["containers"][0]["name"] == "web"


def a_list(_: random.Random) -> None:
    data = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": [pod()] * 3}
    for each in core().PodList.from_wire(text_of(data)):
        check_pod(each)


def unknown_fields(rng: random.Random) -> None:
    field = f"future{rng.randrange(4)}"
    data = pod({field: {"a": 1}})
    data["spec"]["containers"][0][field] = True
    found = core().Pod.from_wire(text_of(data))
    check_pod(found)
    found.spec.node_name = "node-1"
    written = json.loads(found.to_json())
    assert written["spec"][field] == {"a": 1}, written
    assert written["spec"]["containers"][0][field] is True, written


def unstructured(_: random.Random) -> None:
    found = importlib.import_module("masthead").Unstructured.from_wire(text_of(pod()))
    assert found["spec"]["containers"][0]["image"] == "nginx"
    assert found.metadata.labels == {"app": "web"}


def copies(_: random.Random) -> None:
    found = core().Pod.from_wire(text_of(pod()))
    for each in (found.copy(), copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        check_pod(each)
        assert each == found
    assert "web" in repr(found)


def any_kind(rng: random.Random) -> None:
    registry = importlib.import_module("masthead._meta.registry").registry
    gvk = importlib.import_module("masthead._meta.gvk").GroupVersionKind
    group, version, kind = rng.choice(
        [
            ("", "v1", "Service"),
            ("apps", "v1", "Deployment"),
            ("batch", "v1", "CronJob"),
            ("coordination.k8s.io", "v1", "Lease"),
            ("networking.k8s.io", "v1", "Ingress"),
            ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
            ("autoscaling", "v2", "HorizontalPodAutoscaler"),
        ]
    )
    cls = registry.object_class(gvk(group, version, kind))
    found = cls.from_wire(text_of({"metadata": {"name": "x"}, "spec": {}}))
    assert found.metadata.name == "x"
    assert found.spec is not None
    assert cls.from_dict(found.to_dict()) == found
    assert registry.list_class(gvk(group, version, kind)).__name__ == f"{kind}List"


def custom_class(_: random.Random) -> None:
    meta = importlib.import_module("masthead._meta.model")
    objects = importlib.import_module("masthead._meta.object")
    gvk = importlib.import_module("masthead._meta.gvk").GroupVersionKind("example.com", "v1", "Widget")
    size = type(meta.Struct)("Size", (meta.Struct,), {"__annotations__": {"width": int}, "width": 0})
    spec = type(meta.Struct)(
        "WidgetSpec",
        (meta.Struct,),
        {"__annotations__": {"sizes": list[size]}, "sizes": []},  # type: ignore[valid-type]
    )
    widget = type(objects.Object)(
        "Widget",
        (objects.Object,),
        {
            "__module__": __name__,
            "GVK": gvk,
            "__annotations__": {"spec": spec},
            "spec": meta.field(default_factory=spec),
        },
    )
    found = widget.from_wire(text_of({"metadata": {"name": "w"}, "spec": {"sizes": [{"width": 3}]}}))
    assert found.spec.sizes[0].width == 3


def extracted(_: random.Random) -> None:
    """The fields that a manager owns, for which the merge types of the kind are compiled."""
    ports: dict[str, Any] = {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}}
    container = {".": {}, "f:name": {}, "f:ports": ports, "f:resources": {"f:limits": {"f:cpu": {}}}}
    fields = {"f:spec": {"f:containers": {'k:{"name":"web"}': container}, "f:hostNetwork": {}}}
    entry = {"manager": "us", "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields}
    data = pod()
    data["metadata"]["managedFields"] = [entry]
    mine = importlib.import_module("masthead.managed_fields").extract(core().Pod.from_dict(data), "us").to_dict()
    limits = {"limits": {"cpu": "500m"}}
    expected = [{"name": "web", "ports": [{"containerPort": 80}], "resources": limits}]
    assert mine["spec"] == {"containers": expected, "hostNetwork": False}, mine


def small_grammars(_: random.Random) -> None:
    meta = importlib.import_module("masthead.meta")
    assert str(meta.Quantity("1024Mi")) == "1Gi"
    assert meta.parse_time("2026-01-02T03:04:05Z").year == 2026
    assert meta.labels.parse("app in (web, api)").matches({"app": "web"})


def embedded_server(rng: random.Random) -> None:
    """An informer with several handlers, a watch and writes, through the blocking façade."""
    masthead = importlib.import_module("masthead")
    seen = [threading.Event() for _ in range(rng.randint(1, 3))]
    data = pod()
    with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        factory = masthead.SharedInformerFactory(client)
        for each in seen:
            factory.core_v1.pods.informer.add_event_handler(on_add=_noticing(each))
        with factory:
            factory.wait_for_cache_sync(timeout=_TIMEOUT)
            pods = client.core_v1.pods("default")
            for number in range(3):
                made = pods.create({**data, "metadata": {**data["metadata"], "name": f"p{number}", "uid": ""}})
                assert made.spec.containers[0].image == "nginx"
            assert len(pods.list()) == 3
            assert client.dynamic("v1", "pods", namespace="default").get("p0")["spec"]["containers"]
            assert client.discovery.resources()
            for each in seen:
                assert each.wait(_TIMEOUT), "a handler was not called"


def _noticing(seen: threading.Event) -> Callable[[Any], None]:
    def on_add(found: Any) -> None:
        assert found.spec.containers[0].ports[0].container_port == 80
        assert found.status.phase is not None
        seen.set()

    return on_add


QUICK: Final[Sequence[Callable[[random.Random], None]]] = (
    from_wire,
    from_json,
    from_dict,
    from_yaml,
    new,
    a_list,
    unknown_fields,
    unstructured,
    copies,
    any_kind,
    custom_class,
    extracted,
    small_grammars,
)


def _is_importlibs(error: KeyError) -> bool:
    """Whether an error is CPython's own: at the end of the import of a package, importlib takes it out of sys.modules
    for a
    moment, and a thread that imports one of its modules right then does not find it."""
    return traceback.extract_tb(error.__traceback__)[-1].filename.startswith("<frozen importlib")


def main(seed: int) -> int:
    """Run the threads of a seed; return the exit status."""
    rng = random.Random(seed)
    sys.setswitchinterval(rng.choice(_TURNS))
    for module in rng.choice([(), ("masthead",), ("masthead", "masthead.api.core.v1"), ("masthead._meta.registry",)]):
        importlib.import_module(module)
    count = rng.randint(2, 16)
    start = threading.Barrier(count)
    problems: list[str] = []

    def work(actions: Sequence[Callable[[random.Random], None]], own: random.Random) -> None:
        start.wait()
        for action in actions:
            try:
                try:
                    action(own)
                except KeyError as error:
                    if not _is_importlibs(error):
                        raise
                    action(own)
            except BaseException:  # noqa: BLE001 - each is printed, and makes the program fail
                problems.append(f"{action.__name__}: {traceback.format_exc()}")

    with_server = rng.randrange(4) == 0
    threads = []
    for number in range(count):
        actions = rng.choices(QUICK, k=rng.randint(1, 6))
        if with_server and number < 2:
            actions.insert(rng.randint(0, len(actions)), embedded_server)
        threads.append(threading.Thread(target=work, args=(actions, random.Random(rng.random()))))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for problem in problems:
        print(f"seed {seed}: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
