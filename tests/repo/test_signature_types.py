"""Users can import every type in a public signature, and the check notices a type that they cannot import."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.signature_types import FOLDERS, Sources, find_private_types, main

ROOT = Path(__file__).parents[2]
MODULE = "masthead/_record/references.py"
PRIVATE = "\n\nclass Hidden:\n    def value(self) -> int:\n        return 1\n"


def findings(tmp_path: Path, source: str) -> list[str]:
    """Check the packages with other text for the module of `EventSubject` and `HasReference`."""
    path = tmp_path / MODULE
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    return [str(finding) for finding in find_private_types(Sources([tmp_path, *FOLDERS]))]


def original() -> str:
    return (ROOT / "src" / MODULE).read_text(encoding="utf-8")


def test_every_type_in_a_public_signature_can_be_imported() -> None:
    assert main() == 0


@pytest.mark.parametrize(
    ("member", "used_in"),
    [
        ("def find(self, hidden: Hidden) -> None: ...", "masthead.record.HasReference.find"),
        ("def find(self, *, hidden: list[Hidden] | None = None) -> None: ...", "masthead.record.HasReference.find"),
        ("async def find(self) -> dict[str, Hidden]: ...", "masthead.record.HasReference.find"),
        ('def find(self) -> "Hidden": ...', "masthead.record.HasReference.find"),
        ("hidden: Hidden", "masthead.record.HasReference.hidden"),
    ],
    ids=["parameter", "keyword", "result", "quoted", "attribute"],
)
def test_a_private_type_of_a_member_is_found(tmp_path: Path, member: str, used_in: str) -> None:
    before, head, after = original().partition("class HasReference(Protocol):\n")
    assert head
    doc, quotes, rest = after.partition('"""\n')
    source = f"{before}{head}{doc}{quotes}\n    {member}\n{rest}{PRIVATE}"

    assert findings(tmp_path, source) == [f"masthead._record.references.Hidden, in {used_in}"]


def test_a_private_base_with_public_members_is_found(tmp_path: Path) -> None:
    source = original().replace("class HasReference(Protocol):", "class HasReference(Hidden, Protocol):") + PRIVATE

    used_in = "the bases of masthead.record.HasReference"
    assert findings(tmp_path, source) == [f"masthead._record.references.Hidden, in {used_in}"]


def test_a_private_base_without_public_members_is_an_implementation_detail(tmp_path: Path) -> None:
    source = original().replace("class HasReference(Protocol):", "class HasReference(Hidden, Protocol):")

    assert findings(tmp_path, f"{source}\n\nclass Hidden:\n    def _value(self) -> int: ...\n") == []


def test_a_private_type_in_a_public_alias_is_found(tmp_path: Path) -> None:
    source = original().replace('EventSubject: TypeAlias = "Object |', 'EventSubject: TypeAlias = "Hidden | Object |')

    assert findings(tmp_path, source + PRIVATE) == [
        "masthead._record.references.Hidden, in masthead.record.EventSubject"
    ]


def test_private_members_may_have_private_types(tmp_path: Path) -> None:
    source = original().replace("class HasReference(Protocol):", "class HasReference(Protocol):\n    _hidden: Hidden\n")

    assert findings(tmp_path, source + PRIVATE) == []
