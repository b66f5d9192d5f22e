"""The definition of a class, or of several versions: names, columns, subresources, documentation."""

from __future__ import annotations

import types
from typing import Annotated, Any

import pytest
from tests.unit.customresource.making import make_kind

import masthead
from masthead import CustomResource
from masthead._customresource.names import plural_of
from masthead._customresource.rendering import render_definition
from masthead.crd import ConversionWebhook, Field, PrinterColumn, Rule, ScaleSubresource
from masthead.errors import CustomResourceError
from masthead.meta import Condition, Struct, Time

Plain = dict[str, Any]


class ShopSpec(Struct, rules=[Rule("self.replicas <= 5 || self.title != ''", message="large ones have a title")]):
    """What the shop sells.

    It goes on
    for two lines.

    Attributes:
        title: What is written
            above the door.
        replicas: The number of doors.
    """

    title: str = ""
    replicas: Annotated[int, Field(minimum=0)] = 1
    owner: Annotated[str, Field(immutable=True)]
    city: Annotated[str | None, Field(immutable=True)] = None
    opened: Time | None = None
    """When it opened.

    In UTC.
    """
    open: bool = True
    weight: float | None = None
    prices: list[int] = []


class ShopStatus(Struct):
    replicas: int = 0
    selector: str = ""
    conditions: list[Condition] = []


class Shop(
    CustomResource,
    group="example.com",
    version="v1",
    short_names=["sh"],
    categories=["all"],
    columns={
        "Replicas": ".spec.replicas",
        "Ready": '.status.conditions[?(@.type=="Ready")].status',
        "Opened": ".spec.opened",
        "Open": ".spec.open",
        "Weight": PrinterColumn(".spec.weight", priority=1, format="double", description="In tons."),
        "Prices": ".spec.prices",
        "App": r".metadata.labels.app\.kubernetes\.io/name",
    },
    scale=("spec.replicas", "status.replicas", "status.selector"),
    selectable_fields=["spec.title", ".status.replicas"],
    rules=["self.metadata.name.size() < 30"],
):
    """A shop."""

    spec: ShopSpec
    status: ShopStatus


def spec_of(cls: type[CustomResource], *others: type[CustomResource]) -> Plain:
    found: Plain = cls.to_crd(*others).to_dict()["spec"]
    return found


VERSION: Plain = spec_of(Shop)["versions"][0]
SCHEMA: Plain = VERSION["schema"]["openAPIV3Schema"]
FIELDS: Plain = SCHEMA["properties"]["spec"]["properties"]


def test_names_follow_from_the_class() -> None:
    definition = Shop.to_crd()

    assert definition.metadata.name == "shops.example.com"
    assert definition.spec.group == "example.com"
    assert definition.spec.scope == "Namespaced"
    assert definition.spec.names.to_dict() == {
        "kind": "Shop",
        "listKind": "ShopList",
        "plural": "shops",
        "singular": "shop",
        "shortNames": ["sh"],
        "categories": ["all"],
    }


def test_columns_have_the_types_of_their_fields_and_the_age_comes_last() -> None:
    columns = VERSION["additionalPrinterColumns"]

    assert [(column["name"], column["type"]) for column in columns] == [
        ("Replicas", "integer"),
        ("Ready", "string"),
        ("Opened", "date"),
        ("Open", "boolean"),
        ("Weight", "number"),
        ("Prices", "string"),
        ("App", "string"),
        ("Age", "date"),
    ]
    assert columns[4] == {
        "name": "Weight",
        "type": "number",
        "jsonPath": ".spec.weight",
        "format": "double",
        "priority": 1,
        "description": "In tons.",
    }


def test_a_column_for_the_age_may_be_given() -> None:
    class Own(CustomResource, group="example.com", version="v1", columns={"Old": ".metadata.creationTimestamp"}):
        size: int

    assert [each["name"] for each in spec_of(Own)["versions"][0]["additionalPrinterColumns"]] == ["Old"]


def test_status_and_scale_are_subresources() -> None:
    assert VERSION["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }
    assert Shop.RESOURCE is not None
    assert [subresource.name for subresource in Shop.RESOURCE.subresources] == ["status", "scale"]


def test_the_status_may_be_no_subresource() -> None:
    class Plainly(CustomResource, group="example.com", version="v1", status_subresource=False):
        status: ShopStatus

    assert "subresources" not in spec_of(Plainly)["versions"][0]


def test_fields_are_selectable() -> None:
    assert VERSION["selectableFields"] == [{"jsonPath": ".spec.title"}, {"jsonPath": ".status.replicas"}]


def test_docstrings_are_descriptions() -> None:
    assert SCHEMA["description"] == "A shop."
    assert SCHEMA["properties"]["spec"]["description"] == "What the shop sells.\n\nIt goes on for two lines."
    assert FIELDS["title"]["description"] == "What is written above the door."
    assert FIELDS["replicas"]["description"] == "The number of doors."
    assert FIELDS["opened"]["description"] == "When it opened.\n\nIn UTC."
    assert "description" not in FIELDS["owner"]


def test_a_description_of_the_field_itself_goes_first() -> None:
    class Inner(Struct):
        """A type."""

    class Outer(Struct):
        """It.

        Attributes:
            documented: Of the section.
            by_field: Of the section.
        """

        undocumented: Inner
        documented: Inner
        by_field: Annotated[Inner, Field(description="Of the field.")]

    class Described(CustomResource, group="example.com", version="v1"):
        spec: Outer

    found = spec_of(Described)["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert [each["description"] for each in found.values()] == ["A type.", "Of the section.", "Of the field."]


def test_rules_stand_where_they_are_declared() -> None:
    assert SCHEMA["x-kubernetes-validations"] == [{"rule": "self.metadata.name.size() < 30"}]
    assert SCHEMA["properties"]["spec"]["x-kubernetes-validations"] == [
        {"rule": "self.replicas <= 5 || self.title != ''", "message": "large ones have a title"},
        {
            "rule": "!has(oldSelf.city) || has(self.city)",
            "message": "city is immutable and cannot be removed",
        },
    ]
    assert FIELDS["owner"]["x-kubernetes-validations"] == [{"rule": "self == oldSelf", "message": "is immutable"}]


def test_rules_hold_for_objects() -> None:
    def causes(new: Plain, old: Plain | None = None) -> list[tuple[str | None, str | None]]:
        one, other = Shop.new("a", spec=new), None if old is None else Shop.new("a", spec=old)
        return [(each.field, each.message) for each in masthead.crd.validate(one, old=other)]

    assert causes({"owner": "me", "replicas": 9}) == [
        ("spec", "Invalid value: large ones have a title"),
    ]
    assert causes({"owner": "me"}, {"owner": "you"}) == [("spec.owner", 'Invalid value: "me": is immutable')]
    assert causes({"owner": "me", "city": "Rome"}, {"owner": "me"}) == []
    assert causes({"owner": "me"}, {"owner": "me", "city": "Rome"}) == [
        ("spec", "Invalid value: city is immutable and cannot be removed"),
    ]
    assert causes({"owner": "me", "city": "Rome"}, {"owner": "me", "city": "Oslo"}) == [
        ("spec.city", 'Invalid value: "Rome": is immutable')
    ]


def test_names_can_be_given() -> None:
    class Wolf(
        CustomResource,
        group="zoo.example.com",
        version="v1beta1",
        kind="Canis",
        plural="wolves",
        singular="wolf",
        namespaced=False,
        deprecated="use zoo.example.com/v1",
        served=False,
    ):
        legs: int = 4

    spec = spec_of(Wolf)
    assert spec["names"] == {"kind": "Canis", "listKind": "CanisList", "plural": "wolves", "singular": "wolf"}
    assert spec["scope"] == "Cluster"
    version = spec["versions"][0]
    assert (version["served"], version["storage"]) == (False, True)
    assert (version["deprecated"], version["deprecationWarning"]) == (True, "use zoo.example.com/v1")
    assert masthead.GroupVersionKind("zoo.example.com", "v1beta1", "Canis") == Wolf.GVK


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("website", "websites"),
        ("policy", "policies"),
        ("gateway", "gateways"),
        ("index", "indexes"),
        ("bus", "buses"),
        ("patch", "patches"),
        ("quiz", "quizes"),
    ],
)
def test_plurals_follow_english(singular: str, plural: str) -> None:
    assert plural_of(singular) == plural


def define(name: str = "Thing", annotations: Plain | None = None, **options: Any) -> Any:
    return make_kind(annotations or {"spec": ShopSpec, "status": ShopStatus}, name=name, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group": "example"}, "Thing: the group 'example' must be a domain with a dot"),
        ({"group": "Example.com"}, "Thing: the group 'Example.com' "),
        ({"group": "apps.k8s.io"}, "Thing: the group 'apps.k8s.io' is reserved for Kubernetes"),
        ({"group": ""}, "Thing: the group '' "),
        ({"version": "V1"}, "Thing: the version 'V1' "),
        ({"version": ""}, "Thing: the version '' "),
        ({"kind": "thing"}, "Thing: the kind 'thing' must begin with a capital letter"),
        ({"kind": "My_Thing"}, "Thing: the kind 'my_thing' "),
        ({"plural": "Things"}, "Thing: the plural 'Things' "),
        ({"short_names": ["T"]}, "Thing: the short name 'T' "),
        ({"short_names": "th"}, r"Thing: short_names is a list of strings, not a string: \['th'\]"),
        ({"categories": ["a b"]}, "Thing: the category 'a b' "),
        ({"columns": {"X": ".spec.replcas"}}, "Thing: column 'X': '.spec.replcas' leads to no field: there is no .spec.replcas"),  # noqa: E501
        ({"columns": {"X": "spec.replicas"}}, r"must begin with a dot: '\.spec\.replicas'"),
        ({"columns": {"X": ".spec[?(@"}}, "Thing: column 'X': .*is not a JSONPath"),
        ({"scale": ("spec.title", "status.replicas")}, r"Thing: scale, spec_replicas: \.spec\.title must be of type integer, not string"),  # noqa: E501
        ({"scale": ("status.replicas", "status.replicas")}, r"spec_replicas: '\.status\.replicas' must begin with \.spec\."),  # noqa: E501
        ({"scale": ("spec.replicas", "status.replics")}, "leads to no field"),
        ({"scale": ("spec.replicas", "status.replicas", "status.replicas")}, "label_selector: .* must be of type string"),  # noqa: E501
        ({"selectable_fields": ["spec.prices"]}, "Thing: selectable field '.spec.prices': must be a string, a boolean or an integer"),  # noqa: E501
        ({"selectable_fields": [".metadata.name"]}, "must be a plain path below"),
        ({"selectable_fields": ["spec.title", ".spec.title"]}, "a selectable field is given twice"),
        ({"selectable_fields": [f"spec.f{n}" for n in range(9)]}, "at most 8 fields are selectable"),
        ({"deprecated": "x" * 300}, "deprecation warning"),
        ({"deprecated": "a\nb"}, "deprecation warning"),
        ({"rules": ["self.spec.nothing == 1"]}, r"Thing: rule \[0\].rule: .*undefined field 'nothing'"),
        ({"conversion": ConversionWebhook()}, "Thing: conversion: give a service as namespace/name, or a url"),
        ({"conversion": ConversionWebhook(service="x")}, "Thing: conversion: give a service as namespace/name"),
        ({"conversion": ConversionWebhook(url="http://x")}, "Thing: conversion: the url must begin with https://"),
        ({"annotations": {"metadata": str}}, "Thing: metadata is a field of every object"),
    ],
    ids=str,
)  # fmt: skip
def test_options_that_no_server_would_accept_are_refused_when_the_class_is_created(
    options: Plain, message: str
) -> None:
    with pytest.raises(CustomResourceError, match=message):
        define(**options)


def test_an_option_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="shortnames"):
        define(shortnames=["x"])


def test_a_kind_is_no_base_of_another_one() -> None:
    with pytest.raises(CustomResourceError, match="Shop is a kind already; have what they share in a base class"):

        class Bookshop(Shop, group="example.com", version="v1"):
            pass


class Shared(CustomResource):
    """Fields of several kinds."""

    spec: ShopSpec


def test_fields_come_from_a_base_without_a_group() -> None:
    class Cafe(Shared, group="example.com", version="v1"):
        status: ShopStatus

    assert [*spec_of(Cafe)["versions"][0]["schema"]["openAPIV3Schema"]["properties"]] == [
        "apiVersion",
        "kind",
        "metadata",
        "spec",
        "status",
    ]
    with pytest.raises(CustomResourceError, match="Shared: the class has no group and version"):
        Shared.to_crd()


class ShopV1Beta1(
    CustomResource,
    group="example.com",
    version="v1beta1",
    kind="Shop",
    short_names=["sh"],
    categories=["all"],
    storage=False,
    deprecated=True,
):
    spec: ShopStatus


def test_versions_are_merged_with_the_newest_first() -> None:
    merged = spec_of(ShopV1Beta1, Shop)

    assert [each["name"] for each in merged["versions"]] == ["v1", "v1beta1"]
    assert [each["storage"] for each in merged["versions"]] == [True, False]
    assert merged == spec_of(Shop, ShopV1Beta1)
    assert "conversion" not in merged


@pytest.mark.parametrize("given", [{}, {"short_names": ["sh"]}, {"categories": ["all"]}])
def test_versions_inherit_the_names_of_the_kind_that_they_leave_out(given: Plain) -> None:
    newer = define("Shop", version="v2", storage=False, **given)
    older = define("Shop", version="v1alpha1", storage=False, **given)

    for names in (spec_of(Shop, newer, older)["names"], spec_of(older, newer, Shop)["names"]):
        assert names["shortNames"] == ["sh"]
        assert names["categories"] == ["all"]


def test_names_that_no_version_gives_are_left_out() -> None:
    names = spec_of(define("Bare"), define("Bare", version="v2", storage=False))["names"]

    assert "shortNames" not in names
    assert "categories" not in names


def test_a_webhook_converts_between_versions() -> None:
    hook = ConversionWebhook(service="shops/operator", path="/c", port=8443, ca_bundle=b"PEM")
    made = define("Shop", version="v2", short_names=["sh"], categories=["all"], storage=False, conversion=hook)

    assert spec_of(Shop, made)["conversion"] == {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {
                "service": {"namespace": "shops", "name": "operator", "path": "/c", "port": 8443},
                "caBundle": "UEVN",
            },
            "conversionReviewVersions": ["v1"],
        },
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"version": "v2"}, "Shop.example.com: the versions v2 and v1 are both stored; set storage=False"),
        ({"version": "v1", "storage": False}, "Shop.example.com: two classes have the version v1"),
        ({"version": "v2", "storage": False, "short_names": ["shp"]}, r"the versions v2 and v1 differ in short_names: \['shp'\] and \['sh'\]; they are those of the kind: give short_names= in one class, and leave it out in the others"),  # noqa: E501
        ({"version": "v2", "storage": False, "categories": ["none"]}, r"differ in categories: \['none'\] and \['all'\]; they are those of the kind"),  # noqa: E501
        ({"version": "v2", "storage": False, "namespaced": False}, "differ in namespaced: False and True; give each class the same namespaced="),  # noqa: E501
        ({"version": "v2", "storage": False, "plural": "shopses"}, "differ in plural: 'shopses' and 'shops'; give each class the same plural="),  # noqa: E501
    ],
)  # fmt: skip
def test_versions_that_do_not_fit_together_are_refused(options: Plain, message: str) -> None:
    made = define("Shop", **{"short_names": ["sh"], "categories": ["all"], **options})

    with pytest.raises(CustomResourceError, match=message):
        Shop.to_crd(made)


def test_a_version_that_is_not_stored_needs_the_one_that_is() -> None:
    with pytest.raises(CustomResourceError, match="no version is stored: of v1beta1, one needs storage=True; pass all"):
        ShopV1Beta1.to_crd()


def test_versions_are_of_one_kind() -> None:
    with pytest.raises(CustomResourceError, match=r"Other\.example\.com are different kinds"):
        Shop.to_crd(define("Other"))


def test_a_module_gives_the_definitions_of_all_its_kinds() -> None:
    module = types.ModuleType("shops")
    vars(module).update(Shop=Shop, Alias=Shop, Old=ShopV1Beta1, Base=Shared, Zebra=define("Zebra"), number=5)

    made = masthead.crd.crds(module, Shop)

    assert [each.metadata.name for each in made] == ["shops.example.com", "zebras.example.com"]
    assert [version.name for version in made[0].spec.versions] == ["v1", "v1beta1"]


def test_a_module_without_kinds_is_refused() -> None:
    with pytest.raises(CustomResourceError, match="shops: the module has no custom resource"):
        masthead.crd.crds(types.ModuleType("shops"))


def test_a_type_may_be_defined_after_the_class_that_uses_it() -> None:
    class Early(CustomResource, group="example.com", version="v1"):
        spec: LateSpec

    assert spec_of(Early)["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"] == ["size"]


class LateSpec(Struct):
    size: int


def test_a_type_that_is_never_defined_is_named() -> None:
    class Lost(CustomResource, group="example.com", version="v1"):
        spec: Missing  # type: ignore[name-defined] # noqa: F821  # pyright: ignore[reportUndefinedVariable,reportUnknownVariableType]

    with pytest.raises(CustomResourceError, match="Lost: name 'Missing' is not defined; import it, and not for type"):
        Lost.to_crd()


def test_the_scale_may_be_given_by_names() -> None:
    scale = ScaleSubresource(spec_replicas=".spec.replicas", status_replicas=".status.replicas")

    assert "labelSelectorPath" not in spec_of(define(scale=scale))["versions"][0]["subresources"]["scale"]


def test_the_text_has_whole_numbers_as_such() -> None:
    assert "minimum: 0\n" in render_definition(Shop.to_crd())
