"""CustomResourceDefinitions: what becomes of them once they are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.definitions import (
    DEFINITIONS,
    NUMBER,
    TEXT,
    await_condition,
    await_deletion,
    await_served,
    definition,
    group_of,
    install,
    object_of,
    resource_of,
    update,
    version_of,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Life of definitions")


def _get(api: Api, plural: str = "widgets") -> None:
    api.get(DEFINITIONS, f"{plural}.{group_of(api)}")


def _widget(api: Api, name: str = "w", version: str = "v1", **fields: Any) -> Plain:
    return {"apiVersion": f"{group_of(api)}/{version}", "kind": "Widget", "metadata": {"name": name}} | fields


# Names and conditions


@case("a definition is established with its names")
def _(api: Api) -> None:
    install(api, definition(api, names={"shortNames": ["wd"], "categories": ["all"]}))
    _get(api)


def _conflict(api: Api, kind: str = "Gadget", **names: Any) -> None:
    install(api, definition(api, names={"shortNames": ["wd", "wdg"]}))
    found = definition(api, plural="gadgets", kind=kind, names=names)
    api.create(DEFINITIONS, found)
    await_condition(api, "gadgets", "NamesAccepted", "False")
    _get(api, "gadgets")
    api.list(resource_of(api, "gadgets"))


@case("a singular that is taken is not accepted")
def _(api: Api) -> None:
    _conflict(api, singular="widget")


@case("a singular that is another's plural is not accepted")
def _(api: Api) -> None:
    _conflict(api, singular="widgets")


@case("a short name that is taken is not accepted")
def _(api: Api) -> None:
    _conflict(api, shortNames=["g", "wd"])


@case("several short names that are taken are all named")
def _(api: Api) -> None:
    _conflict(api, shortNames=["wd", "wdg", "widgets", "wd"])


@case("a kind that is taken is not accepted")
def _(api: Api) -> None:
    _conflict(api, "Widget", singular="gadget")


@case("a kind of lists that is taken is not accepted")
def _(api: Api) -> None:
    _conflict(api, listKind="WidgetList")


@case("a kind that is another's kind of lists is not accepted")
def _(api: Api) -> None:
    _conflict(api, "WidgetList", singular="gadget")


@case("of several conflicts the last is named")
def _(api: Api) -> None:
    _conflict(api, "Widget", shortNames=["wd"])


@case("names that are given up are accepted for another")
def _(api: Api) -> None:
    _conflict(api, shortNames=["wd"])
    api.delete(DEFINITIONS, f"widgets.{group_of(api)}")
    await_condition(api, "gadgets")
    _get(api, "gadgets")


@case("a short name that is no longer wanted is free")
def _(api: Api) -> None:
    _conflict(api, shortNames=["wd"])
    update(api, "widgets", lambda found: found["spec"]["names"].update(shortNames=["wdg"]))
    await_condition(api, "gadgets")
    _get(api, "gadgets")
    _get(api, "widgets")


@case("an established definition stays so when a new short name is taken")
def _(api: Api) -> None:
    install(api, definition(api, names={"shortNames": ["wd"]}))
    install(api, definition(api, plural="gadgets", kind="Gadget", names={"shortNames": ["gd"]}))
    update(api, "gadgets", lambda found: found["spec"]["names"].update(shortNames=["gd", "wd"]))
    await_condition(api, "gadgets", "NamesAccepted", "False")
    _get(api, "gadgets")
    await_served(api, "gadgets")
    api.list(resource_of(api, "gadgets"))


@case("a name that a definition has itself is taken, too")
def _(api: Api) -> None:
    install(api, definition(api))
    update(api, "widgets", lambda found: found["spec"]["names"].update(shortNames=["widgets"]))
    await_condition(api, "widgets", "NamesAccepted", "False")
    _get(api)


@case("changed names are accepted")
def _(api: Api) -> None:
    install(api, definition(api))
    change: Plain = {"shortNames": ["w"], "singular": "wdgt", "listKind": "Widgets", "categories": ["all"]}
    update(api, "widgets", lambda found: found["spec"]["names"].update(change))
    await_condition(api, "widgets", "NamesAccepted", "True")
    api.await_event(
        api.path(DEFINITIONS),
        f"widgets.{group_of(api)}",
        lambda event: event["object"]["status"]["acceptedNames"].get("singular") == "wdgt",
    )
    _get(api)


@case("an approved API of Kubernetes says so")
def _(api: Api) -> None:
    for state, text in (("approved", "https://github.com/x/y/pull/1"), ("unapproved", "unapproved, a test")):
        group = f"{state}.{group_of(api)}.k8s.io"
        found = definition(api, group=group)
        found["metadata"] = {
            "name": f"widgets.{group}",
            "annotations": {"api-approved.kubernetes.io": text},
        }
        api.create(DEFINITIONS, found)
        api.await_event(
            api.path(DEFINITIONS),
            f"widgets.{group}",
            lambda event: (
                len(event["object"]["status"].get("conditions") or ()) == 3
                and event["object"]["status"]["conditions"][1]["status"] == "True"
            ),
        )
        # The order of the conditions depends on which of the server's controllers comes first.
        _, body = api.quietly("GET", api.path(DEFINITIONS, f"widgets.{group}"))
        assert body["status"]["conditions"]
    group = f"approved.{group_of(api)}.k8s.io"
    without = {"metadata": {"annotations": {"api-approved.kubernetes.io": None}}}
    api.patch(DEFINITIONS, f"widgets.{group}", without)
    wrong = {"metadata": {"annotations": {"api-approved.kubernetes.io": "x"}}}
    api.patch(DEFINITIONS, f"widgets.{group}", wrong)


@case("certificates that are none keep a definition from being established")
def _(api: Api) -> None:
    config: Plain = {"url": "https://example.com", "caBundle": "bm8gY2VydGlmaWNhdGU="}
    webhook: Plain = {"clientConfig": config, "conversionReviewVersions": ["v1"]}
    api.create(DEFINITIONS, definition(api, conversion={"strategy": "Webhook", "webhook": webhook}))
    await_condition(api, "widgets", "Established", "False", "InvalidCABundle")
    _get(api)
    update(api, "widgets", lambda found: found["spec"].update(conversion={"strategy": "None"}))
    await_condition(api, "widgets")
    _get(api)


def _set_conversion(api: Api, conversion: Plain) -> None:
    update(api, "widgets", lambda found: found["spec"].update(conversion=conversion))


@case("certificates that are none cannot be set later")
def _(api: Api) -> None:
    install(api, definition(api))
    for bundle in ("bm8gY2VydGlmaWNhdGU=", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="):
        config: Plain = {"url": "https://example.com", "caBundle": bundle}
        webhook: Plain = {"clientConfig": config, "conversionReviewVersions": ["v1"]}
        conversion = {"strategy": "Webhook", "webhook": webhook}
        _set_conversion(api, conversion)


# Updates


@case("group, plural, kind and scope are fixed")
def _(api: Api) -> None:
    install(api, definition(api))
    update(api, "widgets", lambda found: found["spec"].update(group="other.example.com"))
    update(api, "widgets", lambda found: found["spec"]["names"].update(plural="gadgets"))
    update(api, "widgets", lambda found: found["spec"]["names"].update(kind="Gadget"))
    update(api, "widgets", lambda found: found["spec"].update(scope="Cluster"))


@case("a definition that is not established may change its kind and scope")
def _(api: Api) -> None:
    _conflict(api, singular="widget")
    update(api, "gadgets", lambda found: found["spec"].update(scope="Cluster"))
    update(api, "gadgets", lambda found: found["spec"]["names"].update(kind="Thing", listKind="ThingList"))


@case("the generation counts changes of the spec")
def _(api: Api) -> None:
    install(api, definition(api, object_of(a=TEXT)))
    update(api, "widgets", lambda found: found["metadata"].update(labels={"a": "b"}))
    update(api, "widgets", lambda found: found["spec"]["names"].update(shortNames=["w"]))
    api.await_event(
        api.path(DEFINITIONS),
        f"widgets.{group_of(api)}",
        lambda event: "shortNames" in event["object"]["status"]["acceptedNames"],
    )
    update(api, "widgets", lambda found: found["spec"].update(preserveUnknownFields=False))
    update(api, "widgets", lambda found: found["spec"]["versions"][0].update(deprecated=True))


@case("an update needs a version, and a patch does not")
def _(api: Api) -> None:
    found = definition(api)
    install(api, found)
    api.update(DEFINITIONS, f"widgets.{group_of(api)}", found)
    api.patch(DEFINITIONS, f"widgets.{group_of(api)}", {"spec": {"scope": "Cluster"}})
    api.patch(DEFINITIONS, f"widgets.{group_of(api)}", {"metadata": {"labels": {"a": "b"}}})


@case("an update does not create")
def _(api: Api) -> None:
    api.update(DEFINITIONS, f"widgets.{group_of(api)}", definition(api, metadata={"resourceVersion": "1"}))


@case("a schema may change in any way that is valid")
def _(api: Api) -> None:
    install(api, definition(api, object_of(a=TEXT)))

    def change(schema: Plain) -> None:
        def set_schema(found: Plain) -> None:
            found["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema

        update(api, "widgets", set_schema)

    change(object_of(a=NUMBER))
    change(object_of(a={}))
    change(object_of(b=TEXT) | {"required": ["b"]})
    change({"type": "string"})


@case("a new storage version is noted with the old")
def _(api: Api) -> None:
    install(api, definition(api, object_of()))

    def add_version(found: Plain) -> None:
        first = found["spec"]["versions"][0]
        found["spec"]["versions"] = [first | {"storage": False}, first | {"name": "v2", "storage": True}]

    update(api, "widgets", add_version)
    await_served(api, version="v2")
    _get(api)


@case("a version in which objects are stored cannot go")
def _(api: Api) -> None:
    schema = object_of()
    versions = [version_of(schema), version_of(schema, "v2"), version_of(schema, "v3")]
    install(api, definition(api, versions=versions))

    def store(name: str) -> None:
        def change(found: Plain) -> None:
            for version in found["spec"]["versions"]:
                version["storage"] = version["name"] == name

        update(api, "widgets", change)

    store("v2")
    store("v3")
    update(api, "widgets", lambda found: found["spec"]["versions"].pop(0))
    update(api, "widgets", lambda found: found["status"].update(storedVersions=["v2", "v3"]), status=True)
    update(api, "widgets", lambda found: found["spec"]["versions"].pop(0))
    update(api, "widgets", lambda found: found["status"].update(storedVersions=["v3"]), status=True)
    update(api, "widgets", lambda found: found["spec"]["versions"].pop(0))


@case("the storage version must be a version that is there")
def _(api: Api) -> None:
    install(api, definition(api, object_of()))
    update(api, "widgets", lambda found: found["spec"]["versions"][0].update(storage=False))


@case("a status is written by its subresource only")
def _(api: Api) -> None:
    install(api, definition(api))
    update(api, "widgets", lambda found: found.update(status={"storedVersions": ["v7"]}))
    update(api, "widgets", lambda found: found["spec"].update(scope="Cluster"), status=True)
    update(api, "widgets", lambda found: found["status"].update(storedVersions=["v1", "v7"]), status=True)
    update(api, "widgets", lambda found: found["metadata"].update(labels={"a": "b"}), status=True)


@case("names in a status are validated")
def _(api: Api) -> None:
    install(api, definition(api))
    update(api, "widgets", lambda found: found["status"]["acceptedNames"].update(singular="X Y"), status=True)
    update(api, "widgets", lambda found: found["status"]["acceptedNames"].update(listKind="Widget"), status=True)
    update(api, "widgets", lambda found: found["status"].update(storedVersions=[]), status=True)


@case("an observed generation is kept")
def _(api: Api) -> None:
    install(api, definition(api))
    update(api, "widgets", lambda found: found["status"].update(observedGeneration=1), status=True)
    update(api, "widgets", lambda found: found["metadata"].update(labels={"a": "b"}))


@case("unknown fields cannot be preserved later")
def _(api: Api) -> None:
    install(api, definition(api))
    update(api, "widgets", lambda found: found["spec"].update(preserveUnknownFields=True))


@case("a webhook for conversion may come and go")
def _(api: Api) -> None:
    install(api, definition(api))
    service: Plain = {"name": "a", "namespace": "b"}
    webhook: Plain = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1", "v2"]}
    update(
        api,
        "widgets",
        lambda found: found["spec"].update(conversion={"strategy": "Webhook", "webhook": webhook}),
    )
    update(api, "widgets", lambda found: found["spec"]["conversion"].update(strategy="None"))
    update(api, "widgets", lambda found: found["spec"].pop("conversion"))


# Deletion


@case("a definition is deleted when its objects are")
def _(api: Api) -> None:
    install(api, definition(api))
    api.create(resource_of(api), _widget(api))
    api.delete(DEFINITIONS, f"widgets.{group_of(api)}")
    await_deletion(api)
    _get(api)
    api.list(resource_of(api))


@case("a definition without objects is deleted")
def _(api: Api) -> None:
    install(api, definition(api))
    api.delete(DEFINITIONS, f"widgets.{group_of(api)}")
    await_deletion(api)
    _get(api)


@case("a definition that was never established is deleted")
def _(api: Api) -> None:
    _conflict(api, singular="widget")
    api.delete(DEFINITIONS, f"gadgets.{group_of(api)}")
    await_deletion(api, "gadgets")
    _get(api, "gadgets")


@case("a definition stays until its objects are gone")
def _(api: Api) -> None:
    install(api, definition(api))
    api.create(resource_of(api), _widget(api, metadata={"name": "w", "finalizers": ["example.com/wait"]}))
    api.delete(DEFINITIONS, f"widgets.{group_of(api)}")
    await_condition(api, "widgets", "Terminating", "True", "InstanceDeletionInProgress")
    _get(api)
    api.create(resource_of(api), _widget(api, "late"))
    api.patch(resource_of(api), "w", {"metadata": {"finalizers": None}})
    await_deletion(api)


@case("a definition's own finalizers are waited for")
def _(api: Api) -> None:
    install(api, definition(api, metadata={"finalizers": ["example.com/wait"]}))
    api.delete(DEFINITIONS, f"widgets.{group_of(api)}")
    await_condition(api, "widgets", "Terminating", "False")
    _get(api)
    api.patch(DEFINITIONS, f"widgets.{group_of(api)}", {"metadata": {"finalizers": None}})
    _get(api)


@case("deletion has preconditions")
def _(api: Api) -> None:
    install(api, definition(api))
    name = f"widgets.{group_of(api)}"
    api.delete(DEFINITIONS, name, {"preconditions": {"uid": "another"}})
    api.delete(DEFINITIONS, name, {"preconditions": {"resourceVersion": "1"}})
    api.delete(DEFINITIONS, name, dryRun="All")
    _get(api)


@case("a definition comes again after its deletion, without its objects")
def _(api: Api) -> None:
    found = definition(api)
    install(api, found)
    api.create(resource_of(api), _widget(api))
    api.delete(DEFINITIONS, f"widgets.{group_of(api)}")
    await_deletion(api)
    install(api, found)
    api.list(resource_of(api))


@case("a collection of definitions is deleted by a selector")
def _(api: Api) -> None:
    install(api, definition(api, metadata={"labels": {"case": api.namespace}}))
    api.delete_all(DEFINITIONS, labelSelector=f"case={api.namespace}")
    await_deletion(api)
    _get(api)


# Versions


@case("a version that is not served is not found")
def _(api: Api) -> None:
    versions = [version_of(object_of()), version_of(object_of(), "v2", served=False)]
    install(api, definition(api, versions=versions))
    api.list(resource_of(api))
    api.list(resource_of(api, version="v2"))
    update(api, "widgets", lambda found: found["spec"]["versions"][1].update(served=True))
    await_served(api, version="v2")
    api.list(resource_of(api, version="v2"))


@case("a version that is no longer served vanishes")
def _(api: Api) -> None:
    versions = [version_of(object_of()), version_of(object_of(), "v2")]
    install(api, definition(api, versions=versions))
    api.create(resource_of(api, version="v2"), _widget(api, version="v2"))
    update(api, "widgets", lambda found: found["spec"]["versions"][1].update(served=False))
    await_served(api, version="v2", is_served=False)
    api.list(resource_of(api, version="v2"))
    await_served(api)
    api.list(resource_of(api))


@case("watchers see a definition accepted, established and gone")
def _(api: Api) -> None:
    name = f"widgets.{group_of(api)}"
    with api.watching(DEFINITIONS, fieldSelector=f"metadata.name={name}") as stream:
        install(api, definition(api))
        stream.read(3)
        api.delete(DEFINITIONS, name)
        stream.read(3)


@case("definitions are listed and selected")
def _(api: Api) -> None:
    install(api, definition(api, metadata={"labels": {"case": api.namespace}}))
    api.list(DEFINITIONS, labelSelector=f"case={api.namespace}")
    api.list(DEFINITIONS, fieldSelector="spec.group=x")
