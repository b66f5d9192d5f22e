"""What the server serves."""

from __future__ import annotations

import subprocess
import sys

# In a process of its own: what is registered stays registered.
PROGRAM = """
import masthead
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.resource import Resource
from masthead._server.resources import catalog

assert {before} or catalog.find("example.com", "v1", "widgets") is None

@masthead.register
class Widget(masthead.Object):
    GVK = GroupVersionKind("example.com", "v1", "Widget")
    RESOURCE = Resource("widgets", "widget", namespaced=True, verbs=("list", "watch"))

assert catalog.find("example.com", "v1", "widgets") is None
assert catalog.versions_in("example.com") == ()
assert list(catalog.resources_in("example.com", "v1")) == []
assert catalog.find("apps", "v1", "deployments").kind == "Deployment"
"""


def test_a_class_that_a_program_registers_is_for_its_clients_and_not_served() -> None:
    for before in (True, False):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(before=before)], capture_output=True, text=True, check=False
        )

        assert done.returncode == 0, done.stderr
