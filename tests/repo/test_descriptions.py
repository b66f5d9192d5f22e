"""Types and fields have docstrings, which are those of ``tools/descriptions``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tools import descriptions
from tools.descriptions.coverage import POPULAR, reachable, read_classes, undocumented

from masthead._codegen.definitions import ClassDef, FieldDef, ModuleDef
from masthead._meta.gvk import GroupVersion
from masthead.api.apps.v1 import Deployment
from masthead.errors import GenerateError

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_LENGTH = 420


def described() -> Iterable[tuple[str, str]]:
    """Every text, with its place."""
    for group, classes in descriptions.read().items():
        for name, description in classes.items():
            yield f"{group}: {name}", description.doc
            yield from ((f"{group}: {name}.{attribute}", doc) for attribute, doc in description.fields.items())


def test_every_type_and_every_field_of_a_popular_kind_has_a_docstring() -> None:
    assert list(undocumented()) == []


def test_popular_kinds_have_the_fields_of_their_parts() -> None:
    # A search that finds too little would make the test above pass.
    fields = sum(len(source.fields) for source in reachable().values())

    assert fields > 1400
    assert len(POPULAR) > 40


def test_each_description_is_of_an_existing_class_or_field() -> None:
    existing: dict[tuple[str, str], set[str]] = {}
    for (module, name), source in read_classes().items():
        existing.setdefault((module.split(".")[-2], name), set()).update(source.fields)

    for group, classes in descriptions.read().items():
        for name, description in classes.items():
            assert (group, name) in existing, f"{group}: {name} does not exist"
            assert not description.fields.keys() - existing[group, name], f"{group}: {name}"


def test_descriptions_are_short_sentences() -> None:
    for place, text in described():
        assert text == " ".join(text.split()), place
        assert text.endswith("."), place
        # A hover shows a few lines.
        assert len(text) <= MAX_LENGTH, place


def test_a_class_has_its_description_at_run_time() -> None:
    described = descriptions.read()["apps"]["Deployment"].doc

    assert " ".join((Deployment.__doc__ or "").split()) == described


def test_a_class_without_a_description_is_not_generated() -> None:
    module = ModuleDef("masthead.api.apps.v1", GroupVersion("apps", "v1"), classes=[ClassDef("Unheard", [])])

    with pytest.raises(GenerateError, match=r"v1\.Unheard has no description: add one to tools/descriptions/apps.yaml"):
        descriptions.add_to([module])


def test_a_list_is_described_by_its_items() -> None:
    module = ModuleDef(
        "masthead.api.apps.v1", GroupVersion("apps", "v1"), classes=[ClassDef("UnheardList", item="Unheard")]
    )

    descriptions.add_to([module])

    assert module.classes[0].doc == "A list of Unheard objects."


def test_a_field_takes_the_text_of_its_attribute() -> None:
    replicas = FieldDef("replicas", "replicas", "int | None", "None")
    module = ModuleDef(
        "masthead.api.apps.v1", GroupVersion("apps", "v1"), classes=[ClassDef("DeploymentSpec", [replicas])]
    )

    descriptions.add_to([module])

    assert module.classes[0].fields[0].doc == descriptions.read()["apps"]["DeploymentSpec"].fields["replicas"]
