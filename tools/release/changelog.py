"""The section of a version in CHANGELOG.md."""

from __future__ import annotations

import re


def problems(text: str, version: str) -> list[str]:
    """The problems of a changelog for a release of a version, in the format of https://keepachangelog.com."""
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    found: list[str] = []
    if headings[:1] != ["Unreleased"]:
        found.append("CHANGELOG.md does not begin with `## Unreleased`")
    dated = [heading for heading in headings if re.fullmatch(rf"{re.escape(version)} - \d{{4}}-\d\d-\d\d", heading)]
    if len(dated) != 1:
        found.append(f"CHANGELOG.md needs one heading `## {version} - YYYY-MM-DD`")
    elif not section(text, dated[0]).strip():
        found.append(f"CHANGELOG.md says nothing about {version}")
    return found


def section(text: str, heading: str) -> str:
    """The text below a heading, up to the heading of the next version."""
    behind = text.partition(f"\n## {heading}\n")[2]
    return behind.partition("\n## ")[0]
