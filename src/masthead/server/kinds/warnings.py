"""Placeholder."""


def deprecation(group: str, version: str, kind: str) -> str | None:
    return None


def on_delete(group: str, resource: str, *, policy: str | None, orphans: bool | None) -> list[str]:
    return []
