"""The website operator of the examples: each call makes a manager, without webhooks, which need certificates."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import masthead
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap, Service
from masthead.controller import Permission, Reads

if TYPE_CHECKING:
    from types import ModuleType

    from masthead.testing import Environment

_EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "website" / "website.py"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("website", _EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["website"] = module
    spec.loader.exec_module(module)
    return module


_WEBSITE: Final[Any] = _load()


def make_app() -> masthead.Manager:
    """Make the manager of a replica."""
    app = masthead.Manager("website")
    app.controller(
        _WEBSITE.Website,
        owns=[Deployment, Service],
        reads=[Reads(ConfigMap, field_selector={"metadata.name": _WEBSITE.DIRECTORY})],
        finalizer="example.com/directory",
        permissions=[Permission(ConfigMap, "create", "patch", names=[_WEBSITE.DIRECTORY])],
        workers=4,
    )(_WEBSITE.reconcile)
    return app


async def workload(env: Environment) -> None:
    """Create a website, change it twice, and delete it."""
    sites = env.client.resource(_WEBSITE.Website, namespace="default")
    await sites.create(_WEBSITE.Website.new("a", spec={"image": "x:1"}))
    await env.wait_for_idle()
    await sites.patch("a", masthead.Patch.merge({"spec": {"replicas": 3}}))
    await env.wait_for_idle()
    await sites.patch("a", masthead.Patch.merge({"spec": {"public": False}}))
    await env.wait_for_idle()
    await sites.delete("a")
    await env.wait_for_idle()
