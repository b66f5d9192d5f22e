"""Roles and bindings from the short text that tables of them use; `cluster_roles` explains the format of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.wire.plain import Plain

__all__ = ["RBAC_GROUP", "make_binding", "parse_rule"]

RBAC_GROUP: Final = "rbac.authorization.k8s.io"


def parse_rule(written: str) -> Plain:
    """Return a rule of a role."""
    # Rules about URLs have an "@" instead of groups and resources.
    verbs, _, urls = written.partition(" @ ")
    if urls:
        return {"verbs": verbs.split(), "nonResourceURLs": urls.split()}
    verbs, groups, resources, *names = written.split(" | ")
    rule: Plain = {
        "verbs": verbs.split(),
        "apiGroups": ["" if group == "core" else group for group in groups.split()],
        "resources": resources.split(),
    }
    if names:
        rule["resourceNames"] = names[0].split()
    return rule


def make_binding(
    metadata: Plain, kind: str, role: str, subjects: Sequence[str], namespace: str = "kube-system"
) -> Plain:
    """Return a binding.

    Args:
        metadata: Its metadata.
        kind: The kind of its role.
        role: The name of its role.
        subjects: Its subjects, such as ``Group system:masters``.
        namespace: The namespace of subjects that are service accounts.
    """
    binding: Plain = {"metadata": metadata, "roleRef": {"apiGroup": RBAC_GROUP, "kind": kind, "name": role}}
    if subjects:
        binding["subjects"] = [_parse_subject(subject, namespace) for subject in subjects]
    return binding


def _parse_subject(written: str, namespace: str) -> Plain:
    kind, _, name = written.partition(" ")
    if kind == "ServiceAccount":
        return {"kind": kind, "name": name, "namespace": namespace}
    return {"kind": kind, "apiGroup": RBAC_GROUP, "name": name}
