"""List what nothing uses: ConfigMaps, Secrets and claims that no workload mentions, and Services without pods."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import masthead

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.meta import JSON

USERS = ("pods", "deploy", "sts", "ds", "rs", "jobs", "cronjobs", "ingresses", "serviceaccounts")
FIELDS = {  # that mention one, anywhere in a user
    "configmaps": {"configMap", "configMapRef", "configMapKeyRef"},
    "secrets": {"secret", "secretRef", "secretKeyRef", "imagePullSecrets", "secrets", "tls"},
    "pvc": {"persistentVolumeClaim"},
}
KEPT = {"kube-root-ca.crt", "kube-system", "kubernetes.io/service-account-token", "helm.sh/release.v1"}


def mentions(data: JSON, field: str = "") -> Iterator[tuple[str, str]]:
    """All names in an object, each with the field that it was found in: ("configMapKeyRef", "settings")."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key in {"name", "secretName", "claimName"} and isinstance(value, str):
                yield field, value
            yield from mentions(value, key)
    elif isinstance(data, list):
        for each in data:
            yield from mentions(each, field)


def find_orphans(client: masthead.Client, namespace: str | None = None) -> Iterator[str]:
    """Yield lines such as "ConfigMap shop/settings"."""
    users = [each for user in USERS for each in client.dynamic(user, namespace=namespace).iter()]
    used = {(each.metadata.namespace, *mention) for each in users for mention in mentions(each.to_dict())}
    for kind, fields in FIELDS.items():
        for each in client.dynamic(kind, namespace=namespace).iter():
            meta = each.metadata
            is_kept = meta.owner_references or {meta.name, meta.namespace, each.get("type")} & KEPT
            if not is_kept and not any((meta.namespace, field, meta.name) in used for field in fields):
                yield f"{each.kind} {each.key}"
    pods = [each.metadata for each in users if each.kind == "Pod"]
    for service in client.core_v1.services(namespace).iter():
        wanted = service.spec.selector.items()
        here = [pod.labels.items() for pod in pods if pod.namespace == service.metadata.namespace]
        if wanted and not any(wanted <= labels for labels in here):
            yield f"Service {service.key}"


def main() -> None:
    """Print them. Look before you delete: a program may use some through the API."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", "--namespace", help="only this namespace")
    arguments = parser.parse_args()
    try:
        with masthead.Client() as client:
            for line in find_orphans(client, arguments.namespace):
                print(line)
    except masthead.MastheadError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
