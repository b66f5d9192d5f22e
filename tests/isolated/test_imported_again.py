"""The package imported a second time in one process, whole or in part, as by notebooks and pytester."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import asyncio, httptools, msgspec, yaml  # which are not ours to import twice
{before}
kept = set(sys.modules)

def use():
    import masthead, masthead.server
    from masthead.api.core.v1 import Container, Namespace, Pod
    with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        assert type(client.core_v1.namespaces().create(Namespace.new("shop"))) is Namespace
        spec = {{"containers": [Container(name="web", image="nginx")]}}
        made = client.core_v1.pods("shop").create(Pod.new("web", spec=spec))
        assert type(made) is Pod and type(made.spec.containers[0]) is Container
        assert client.apps_v1.deployments("shop").list().items == []

for _ in range(3):
    use()
    for name in [name for name in sys.modules if name.startswith("masthead") and name not in kept]:
        del sys.modules[name]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "before",
    [
        "",
        "import masthead",
        "import masthead.server; masthead.server.VirtualClock",
        "import masthead._meta.registry",
        "import masthead.api.core.v1",
        "import masthead; masthead.Client; masthead.SharedInformerFactory",
        "import masthead.server; masthead.server.run",
        (
            "from masthead._meta.gvk import GroupVersionKind\n"
            "from masthead_server.resources.catalog import Catalog\n"
            "Catalog.builtin().by_kind(GroupVersionKind('', 'v1', 'Pod'))"
        ),
    ],
)
def test_old_and_new_classes_stay_separate(before: str) -> None:
    script = PROGRAM.format(before=before)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_reloaded_package_keeps_working() -> None:
    script = (
        "import importlib, masthead, masthead.meta, masthead.server\n"
        "for module in (masthead, masthead.meta, masthead.server): importlib.reload(module)\n"
        "with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:\n"
        "    assert client.core_v1.namespaces().get('default').metadata.name == 'default'\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
