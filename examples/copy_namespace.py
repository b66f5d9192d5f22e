"""Copy a namespace, custom resources included, to another one of the same cluster or of another."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

import masthead
from masthead.api.core.v1 import Namespace

if TYPE_CHECKING:
    from collections.abc import Iterator

# What belongs to a moment; and a copied Job would run again.
SKIPPED = {"events", "endpoints", "endpointslices", "jobs", "leasecandidates", "leases", "pods"}
MADE_BY_THE_CLUSTER = {
    ("ConfigMap", "kube-root-ca.crt"),
    ("Secret", "kubernetes.io/service-account-token"),
    ("Service", "kubernetes"),
    ("ServiceAccount", "default"),
}
STATE = ("kubectl.kubernetes.io/last-applied", "deployment.kubernetes.io/", "pv.kubernetes.io/", "volume.")


def objects_of(client: masthead.Client, namespace: str) -> Iterator[masthead.Unstructured]:
    """The objects of a namespace without an owner; owners create the others again."""
    for resource in client.discovery.preferred_resources():
        if resource.namespaced and {"list", "create"} <= {*resource.verbs} and resource.name not in SKIPPED:
            for each in client.dynamic(resource.gvr, namespace=namespace).iter():
                known = {(each.kind, each.metadata.name), (each.kind, each.get("type"))}
                if known.isdisjoint(MADE_BY_THE_CLUSTER) and not each.metadata.owner_references:
                    yield each


def moved(obj: masthead.Unstructured, namespace: str) -> dict[str, Any]:
    """An object as one would write it for another namespace, without what its cluster has added."""
    data = {field: value for field, value in obj.to_dict().items() if field != "status"}
    meta = {"name": obj.metadata.name, "namespace": namespace, "labels": obj.metadata.labels}
    annotations = {key: text for key, text in obj.metadata.annotations.items() if not key.startswith(STATE)}
    data["metadata"] = meta | {"annotations": annotations}
    for field in ("clusterIP", "clusterIPs", "volumeName"):  # of a Service or a claim
        data.get("spec", {}).pop(field, None)
    for port in data.get("spec", {}).get("ports", []):
        port.pop("nodePort", None)
    for subject in data.get("subjects", []):  # of a RoleBinding
        if subject.get("namespace") == obj.metadata.namespace:
            subject["namespace"] = namespace
    return data


def copy_namespace(source: masthead.Client, name: str, target: masthead.Client, new_name: str) -> str:
    """Copy the objects, or update them in the target; return a line for each."""
    objects = [moved(each, new_name) for each in objects_of(source, name)]
    namespace = Namespace.new(new_name, labels=source.core_v1.namespaces().get(name).metadata.labels)
    return target.apply_manifests([namespace, *objects], field_manager="copy-namespace").text


def main() -> None:
    """Copy, and print a line for each object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("namespace")
    parser.add_argument("new_namespace")
    parser.add_argument("--to-context", help="of the kubeconfig: another cluster to copy to")
    arguments = parser.parse_args()
    try:
        with masthead.Client() as source, masthead.Client(context=arguments.to_context) as target:
            print(copy_namespace(source, arguments.namespace, target, arguments.new_namespace), end="")
    except masthead.MastheadError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
