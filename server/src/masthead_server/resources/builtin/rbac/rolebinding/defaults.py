"""Defaults of RoleBindings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import each, shape

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_RBAC_GROUP: Final = {"apiGroup": "rbac.authorization.k8s.io"}


def _fill_subject(subject: Plain) -> None:
    if subject.get("kind") in {"User", "Group"} and not subject.get("apiGroup"):
        subject.update(_RBAC_GROUP)


ROLE_BINDING: Final = shape(always={"roleRef": shape(blank=_RBAC_GROUP)}, inside={"subjects": each(_fill_subject)})
