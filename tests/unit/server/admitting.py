"""Mutating admission of one object, by kube-apiserver's default plugins, without a server."""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING, Any

from tests.unit.server.builtin import CATALOG, of_kind

from masthead_server.admission.attributes import AdmissionAttributes, Operation
from masthead_server.admission.registry import make_chain
from masthead_server.clock import SystemClock
from masthead_server.cluster import ClusterState
from masthead_server.storage import Storage
from masthead_server.wire.user_info import ADMIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.resources.resource import ServedResource

Plain = dict[str, Any]

# Neither accounts nor namespaces are stored here.
PLUGINS = {"ServiceAccount": False, "NamespaceLifecycle": False}


def admit(new: Plain, old: Plain | None = None, stored: Sequence[Plain] = ()) -> Plain:
    """Return an object as mutating admission leaves it.

    Args:
        new: The object, in the stored shape, with its kind.
        old: The present one; None for a new object.
        stored: The other objects of the cluster, in the stored shape, with their kinds.
    """
    cluster = ClusterState(Storage(), SystemClock(), CATALOG)
    for obj in stored:
        served = _resource_of(obj)
        cluster.write(served, served.key("", obj["metadata"]["name"]), copy.deepcopy(obj))
    served, meta = _resource_of(new), new.get("metadata", {})
    operation = Operation.CREATE if old is None else Operation.UPDATE
    attributes = AdmissionAttributes(
        operation, served, served.gvk, meta.get("namespace", ""), meta.get("name", ""), ADMIN, object=new, old=old
    )
    asyncio.run(make_chain(cluster, PLUGINS).admit(attributes))
    return attributes.object or new


def _resource_of(obj: Plain) -> ServedResource:
    group, _, version = obj["apiVersion"].rpartition("/")
    return of_kind(group, version, obj["kind"])
