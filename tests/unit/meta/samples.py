"""Pods as a server sends them."""

from __future__ import annotations

from masthead._meta.slots import member_of
from masthead.api.core.v1 import Pod

WEB = (
    b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","labels":{"app":"web"},'
    b'"creationTimestamp":"2026-01-02T03:04:05Z","managedFields":[{"manager":"kubectl","fieldsV1":{"f:spec":{}}}]},'
    b'"spec":{"containers":[{"name":"web","image":"nginx","resources":{}}],"nodeName":"node-1","volumes":[]},'
    b'"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastProbeTime":null}]}}'
)
NEWER = (
    b'{"metadata":{"name":"web","shinyMeta":{"a":[1]}},'
    b'"spec":{"containers":[{"name":"one","shiny":true},{"name":"two","shiny":{"deep":null}}],"newSpec":"x"},'
    b'"status":{"phase":"Running"},"newSection":{"k":[1,2]}}'
)


def held(pod: Pod, name: str) -> object:
    """Return the raw value of a slot."""
    return member_of(Pod, name).__get__(pod)
