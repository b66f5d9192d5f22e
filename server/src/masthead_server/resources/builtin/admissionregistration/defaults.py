"""Defaults that the kinds of admission configuration share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import SERVICE_REFERENCE, for_each, shape

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_RULE: Final = shape(unset={"scope": "*"})
_MATCH: Final[Plain] = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
WEBHOOK: Final[Plain] = {"failurePolicy": "Fail", **_MATCH, "timeoutSeconds": 10}
WEBHOOK_INSIDE: Final = {"clientConfig": shape(inside={"service": SERVICE_REFERENCE}), "rules": for_each(_RULE)}
_RESOURCES: Final = shape(
    unset=_MATCH, inside={"resourceRules": for_each(_RULE), "excludeResourceRules": for_each(_RULE)}
)
POLICY: Final = shape(always={"spec": shape(unset={"failurePolicy": "Fail"}, inside={"matchConstraints": _RESOURCES})})
BINDING: Final = shape(inside={"spec": shape(inside={"matchResources": _RESOURCES})})
ALPHA_BINDING: Final = shape(
    inside={
        "spec": shape(
            inside={
                "matchResources": _RESOURCES,
                "paramRef": shape(unset={"parameterNotFoundAction": "Deny"}),
            }
        )
    }
)
