"""The examples in docstrings: where they are, what they need, and a cluster in which they can run."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import importlib
import inspect
import itertools
import logging
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tests.repo.website import Website, reconcile

import masthead
import masthead.aio
import masthead.server
from masthead.api.apps.v1 import Deployment
from masthead.api.batch.v1 import Job
from masthead.api.core.v1 import Namespace, Pod
from masthead.metrics import NO_METRICS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

SOURCE = Path(__file__).parents[2] / "src"
GENERATED = ("api/", "clientset.py", "groups.py", "groups/")
AWAITED = (
    "masthead.aio",
    "masthead._cache",
    "masthead._client",
    "masthead._controller.probe_server",
    "masthead._controller.shard_member",
    "masthead._discovery",
    "masthead._leaderelection.leader_elector",
    "masthead._record.recorder",
    "masthead._rest",
    "masthead._workqueue.queue",
)

IMPORTS = """
from pathlib import Path
import asyncio
import logging

import masthead
import masthead.aio
import masthead.server
from masthead import GroupVersionResource
from masthead.api.apps.v1 import Deployment
from masthead.api.batch.v1 import Job
from masthead.api.core.v1 import Container, Pod, PodSecurityContext, Secret, Service
from collections.abc import AsyncIterator
from tests.repo.website import *
"""
"""What an example may use without saying so."""


@dataclass(frozen=True)
class Example:
    """A piece of code in the docstring of a module, class or function."""

    module: str
    place: str
    code: str

    @property
    def name(self) -> str:
        return f"{self.module}:{self.place}"

    @property
    def is_awaited(self) -> bool:
        return self.module.startswith(AWAITED)

    @property
    def is_endless(self) -> bool:
        return ".watch(" in self.code

    @property
    def needs(self) -> set[str]:
        """The names that it uses and does not define."""
        names = [node for node in ast.walk(ast.parse(self.code)) if isinstance(node, ast.Name)]
        return {each.id for each in names} - {each.id for each in names if isinstance(each.ctx, ast.Store)}

    def compiled(self) -> Any:
        return compile(self.code, self.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def blocks() -> Iterator[Example]:
    """Every literal block of every docstring, code or not."""
    for path in sorted((SOURCE / "masthead").rglob("*.py")):
        relative = path.relative_to(SOURCE / "masthead").as_posix()
        if relative.startswith(GENERATED):
            continue
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                for code in _literal_blocks(ast.get_docstring(node) or ""):
                    yield Example(module, getattr(node, "name", "module"), code)


def _literal_blocks(doc: str) -> Iterator[str]:
    """What stands indented behind a line that ends with two colons, or in a fence of backticks."""
    yield from re.findall(r"```python\n(.*?)```", doc, re.DOTALL)
    lines = doc.splitlines()
    for number, line in enumerate(lines, 1):
        if line.rstrip().endswith("::"):
            yield textwrap.dedent("\n".join(_inside(_indent(line), lines[number:]))).strip("\n")


def _inside(margin: int, lines: list[str]) -> Iterator[str]:
    return itertools.takewhile(lambda line: not line.strip() or _indent(line) > margin, lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def is_code(block: Example) -> bool:
    """Whether a literal block is Python, and not a diagram or a grammar."""
    try:
        ast.parse(block.code)
    except SyntaxError:
        return False
    return True


CONTAINERS = {"containers": [{"name": "web", "image": "nginx"}]}
WORKLOAD = {
    "selector": {"matchLabels": {"app": "web"}},
    "template": {"metadata": {"labels": {"app": "web"}}, "spec": CONTAINERS},
}


def fill(server: masthead.server.Server) -> None:
    """What the examples speak of: a pod, a deployment that is rolled out, a job that is nearly done."""
    with masthead.Client(kubeconfig=server.kubeconfig()) as client:
        client.core_v1.namespaces().create(Namespace.new("shop"))
        for namespace in ("default", "shop"):
            pods = client.core_v1.pods(namespace)
            pods.create(Pod.new("web", labels={"app": "web"}, spec=CONTAINERS))
            pods.create(Pod.new("on-a-node", labels={"app": "web"}, spec={**CONTAINERS, "nodeName": "node-1"}))
        ready = [{"type": "Ready", "status": "True"}]
        pods = client.core_v1.pods("default")
        pods.patch_status("web", masthead.Patch.merge({"status": {"conditions": ready, "phase": "Running"}}))
        server.kubelet.start("web")
        for port in (8080, 5432):
            server.kubelet.listen("web", port, _echo)
        deployments = client.apps_v1.deployments("default")
        made = deployments.create(Deployment.from_dict({"metadata": {"name": "web"}, "spec": WORKLOAD}))
        counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 1)
        available = [{"type": "Available", "status": "True"}]
        status = {**counts, "observedGeneration": made.metadata.generation, "conditions": available}
        deployments.patch_status("web", masthead.Patch.merge({"status": status}))
        pod_of_job = {"spec": {**CONTAINERS, "restartPolicy": "Never"}}
        job = {"metadata": {"name": "import"}, "spec": {"completions": 4, "template": pod_of_job}}
        jobs = client.batch_v1.jobs("default")
        jobs.create(Job.from_dict(job))
        started = {"startTime": "2026-01-01T00:00:00Z", "succeeded": 3}
        jobs.patch_status("import", masthead.Patch.merge({"status": started}))


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(2**16):
        writer.write(data)


class EnoughError(Exception):
    """An example without an end has done what it is there for."""


def names_for(example: Example, server: masthead.server.Server, printed: list[str]) -> dict[str, Any]:
    """A fresh namespace: the names of the example's module, and what its readers know of."""

    def note(*words: object) -> None:
        printed.append(" ".join(map(str, words)))
        if example.is_endless:
            raise EnoughError

    names: dict[str, Any] = {"__name__": "an_example"}
    exec(IMPORTS, names)
    module = vars(importlib.import_module(example.module))
    names |= {name: module[name] for name in example.needs & module.keys() if not name.startswith("__")}
    return names | {
        "print": note,
        "server": server,
        "kube_server": server,
        "pod": Pod.new("new", spec=CONTAINERS),
        "widget": masthead.Unstructured.from_dict({"kind": "Widget", "spec": {"size": 2}}),
        "metrics": NO_METRICS,
        "app": _app(),
        "site": Website.from_dict({"metadata": {"name": "blog", "namespace": "default", "uid": "1"}}),
        "handler": logging.StreamHandler(),
        "messages": asyncio.Queue[str](),
        "check_synced": lambda: None,
        "my_operator": SimpleNamespace(run_once=lambda client: client.core_v1.pods("default").list()),
    }


def _app() -> masthead.Manager:
    """A manager with one controller, for what is registered beside it."""
    app = masthead.Manager()
    app.controller(Website, name="first")(reconcile)
    return app


@contextlib.contextmanager
def blocking(server: masthead.server.Server) -> Iterator[dict[str, Any]]:
    """What examples for the blocking façade need."""
    with (
        masthead.Client(kubeconfig=server.kubeconfig()) as client,
        masthead.SharedInformer(client.core_v1.pods()) as informer,
    ):
        informer.wait_for_cache_sync(60)
        pods = client.core_v1.pods("default")
        listed = pods.list()
        pods.create(Pod.new("late", spec=CONTAINERS))
        yield {**_resources(client), "kube_client": client, "informer": informer, "listed": listed}


@contextlib.asynccontextmanager
async def awaited(server: masthead.server.Server) -> AsyncIterator[dict[str, Any]]:
    """What examples for the async façade need."""
    async with (
        masthead.aio.Client(kubeconfig=server.kubeconfig()) as client,
        masthead.aio.SharedInformer(client.core_v1.pods()) as informer,
    ):
        await informer.wait_for_cache_sync(60)
        pods = client.core_v1.pods("default")
        listed = await pods.list()
        await pods.create(Pod.new("late", spec=CONTAINERS))
        yield {**_resources(client), "informer": informer, "listed": listed}


def _resources(client: Any) -> dict[str, Any]:
    return {
        "client": client,
        "pods": client.core_v1.pods("default"),
        "deployments": client.apps_v1.deployments("default"),
        "jobs": client.batch_v1.jobs("default"),
    }


def typed_module(example: Example) -> str:
    """The example as a module for type checkers: a function, with what it needs as parameters."""
    groups = "masthead.aio.clientset" if example.is_awaited else "masthead.clientset"
    types = {
        "client": f"masthead.{'aio.' if example.is_awaited else ''}Client",
        "informer": f"masthead.{'aio.' if example.is_awaited else ''}SharedInformer[Pod]",
        "pods": f"{groups}.core_v1.Pods[Pod]",
        "deployments": f"{groups}.apps_v1.Deployments[Deployment]",
        "jobs": f"{groups}.batch_v1.Jobs[Job]",
        "listed": "masthead.ObjectList[Pod]",
        "pod": "Pod",
        "server": "masthead.server.Server",
        "widget": "masthead.Unstructured",
        "metrics": "masthead.metrics.Metrics",
        "app": "masthead.Manager",
        "site": "Website",
        "handler": "logging.Handler",
        "messages": "asyncio.Queue[str]",
        "check_synced": "Callable[[], None]",
    }
    parameters = ", ".join(f"{name}: {types[name]}" for name in sorted(example.needs & types.keys()))
    own = example.needs & vars(importlib.import_module(example.module)).keys() - set(re.findall(r"\w+", IMPORTS))
    imports = [f"from {example.module} import {name}" for name in sorted(own) if not name.startswith("__")]
    is_async = bool(example.compiled().co_flags & inspect.CO_COROUTINE)
    return "\n".join(
        [
            IMPORTS,
            *(f"import {groups}.{each}" for each in ("apps_v1", "batch_v1", "core_v1")),
            "import masthead.metrics",
            "from collections.abc import Callable",
            *imports,
            f"{'async ' if is_async else ''}def example({parameters}) -> None:",
            textwrap.indent(example.code, "    "),
            "",
        ]
    )
