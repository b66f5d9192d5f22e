"""Names of objects on the command line: ``pods``, ``pods web api``, ``pods,svc``, ``deploy/web svc/web``, ``all``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.shared_options import State
from masthead._cli.terminal import say
from masthead._value import Value
from masthead.errors import MastheadError, NotFoundError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import masthead
    from masthead._discovery.model import ServedResource

__all__ = [
    "ObjectName",
    "Selected",
    "missing",
    "nearest",
    "parse_references",
    "refuse_missing_namespace",
    "resolve",
    "say_nothing_found",
]

_NEAR: Final = 3
_NAMES: Final = 500
"""The maximum number of names that are searched for a similar one."""


class ObjectName(Value):
    """A kind in the user's spelling, and the names of its objects.

    Attributes:
        kind: A plural, singular, kind, short name or category, maybe with version and group.
        names: The names; empty for all objects.
    """

    kind: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selected:
    """A resource of the server, and the names of its objects.

    Attributes:
        resource: The resource.
        names: The names; empty for all objects.
        namespace: The namespace; None for all, and for cluster-scoped resources.
    """

    resource: ServedResource
    names: tuple[str, ...]
    namespace: str | None

    @property
    def title(self) -> str:
        """The kind as prefixes of names have it: ``pod``, ``deployment.apps``."""
        return title_of(self.resource)


def title_of(resource: ServedResource) -> str:
    """The kind as prefixes of names have it: ``pod``, ``deployment.apps``."""
    kind = resource.kind.lower()
    return f"{kind}.{resource.gvk.group}" if resource.gvk.group else kind


def parse_references(arguments: Sequence[str]) -> list[ObjectName]:
    """Read the arguments of a command that name objects, as kubectl does.

    Raises:
        CommandError: If they mix both forms, or are incomplete.
    """
    if not arguments:
        raise _usage("name a kind, such as pods, or an object, such as pods/web")
    # One slash decides for all arguments, as with kubectl: "pods/web api" is ambiguous.
    if any("/" in argument for argument in arguments):
        return [_with_slash(argument) for argument in arguments]
    kinds = [kind.strip() for kind in arguments[0].split(",")]
    if not all(kinds):
        raise _usage(f"{arguments[0]!r}: a kind is missing beside a comma")
    return [ObjectName(kind, tuple(arguments[1:])) for kind in kinds]


def _with_slash(argument: str) -> ObjectName:
    kind, _, name = argument.partition("/")
    if not kind or not name or "/" in name:
        raise _usage(f"{argument!r} is not KIND/NAME; all arguments must be, if one is")
    return ObjectName(kind, (name,))


def _usage(line: str) -> CommandError:
    return CommandError(line, code=ExitCode.USAGE)


def resolve(client: masthead.Client, state: State, references: Sequence[ObjectName]) -> list[Selected]:
    """Look the kinds up on the server. Categories, such as ``all``, become their resources; neighbours are joined.

    Raises:
        UnknownKindError: If the server does not have a kind.
        CommandError: If names are given for all namespaces.
        MastheadError: As any call.
    """
    found: list[Selected] = []
    for reference in references:
        for resource in _resources(client, reference.kind):
            # kubectl refuses this, too: the same name may exist in many namespaces.
            if reference.names and state.all_namespaces and resource.namespaced:
                raise _usage("an object cannot be named in all namespaces; name one with -n")
            in_all = state.all_namespaces or not resource.namespaced
            namespace = None if in_all else client.namespace
            last = found[-1] if found else None
            # "pods/a pods/b" is one request for a list, and one table.
            if last is not None and last.resource == resource:
                found[-1] = Selected(resource, (*last.names, *reference.names), namespace)
            else:
                found.append(Selected(resource, reference.names, namespace))
    return found


def _resources(client: masthead.Client, kind: str) -> Sequence[ServedResource]:
    try:
        return [client.mapper.find(kind)]
    # A kind takes precedence over a category with the same name.
    except UnknownKindError:
        try:
            return [resource for resource in client.mapper.category(kind) if "list" in resource.verbs]
        except UnknownKindError:
            pass
        # The error for the kind, since more users mistype a kind than a category.
        raise


def nearest(name: str, known: Sequence[str]) -> str:
    """Return a hint with the most similar name; empty without one."""
    import difflib  # for an error only, because programs must start quickly

    near = difflib.get_close_matches(name, known, n=_NEAR)
    return f"did you mean {', '.join(near)}?" if near else ""


def missing(client: masthead.Client, selected: Selected, name: str) -> CommandError:
    """The error for an object that does not exist: with the nearest names, or with the missing namespace.

    Args:
        client: The client.
        selected: The resource, and where it was looked for.
        name: The name.
    """
    # A missing namespace explains a missing object best.
    if selected.namespace is not None:
        refuse_missing_namespace(client, selected.namespace)
    where = f" in namespace {selected.namespace}" if selected.namespace else ""
    return CommandError(
        f'{selected.resource.gvr.group_resource} "{name}" not found{where}',
        hint=_elsewhere(client, selected, name)
        or nearest(name, names_of(client, selected))
        or f"masthead get {selected.resource.name}{_namespace_option(selected)} lists them",
        code=ExitCode.NOT_FOUND,
    )


def _elsewhere(client: masthead.Client, selected: Selected, name: str) -> str:
    """Return a hint with the other namespaces that have an object of that name; empty without one."""
    if selected.namespace is None:
        return ""
    resource = client.metadata(selected.resource.gvr, namespace=None)
    try:
        # Any state of the server's cache will do, and it is cheap in a large cluster.
        listed = resource.list(field_selector={"metadata.name": name}, limit=_NEAR + 1, resource_version="0")
        found = [obj.metadata.namespace for obj in listed]
    except MastheadError:
        return ""
    others = [namespace for namespace in found if namespace != selected.namespace]
    if len(others) <= 1:
        return "".join(f"there is one in namespace {other}" for other in others)
    more = " and others" if len(others) > _NEAR else ""
    return f"there are some in namespaces {', '.join(others[:_NEAR])}{more}"


def _namespace_option(selected: Selected) -> str:
    """What a command in a hint needs to mean the same namespace as this one; empty if it is the context's."""
    # A hint repeats -n only if the user has given it.
    context = click.get_current_context(silent=True)
    state = context.find_object(State) if context is not None else None
    is_chosen = state is None or state.namespace is not None
    return f" -n {selected.namespace}" if selected.namespace and is_chosen else ""


def refuse_missing_namespace(client: masthead.Client, namespace: str) -> None:
    """Say that a namespace does not exist, if that can be found out.

    Raises:
        CommandError: If it does not.
    """
    try:
        client.metadata("v1", "namespaces").get(namespace)
    # Users without the right to read namespaces keep the error that they have.
    except NotFoundError:
        known = _names(client.metadata("v1", "namespaces"))
        hint = nearest(namespace, known) or "masthead get namespaces lists them"
        raise CommandError(f'namespace "{namespace}" does not exist', hint=hint, code=ExitCode.NOT_FOUND) from None
    except MastheadError:
        return  # it may not be asked for


def say_nothing_found(client: masthead.Client, namespace: str | None) -> None:
    """Print that there are no objects, in kubectl's words.

    Args:
        client: The client.
        namespace: Where they were looked for; None for everywhere.

    Raises:
        CommandError: If the namespace does not exist.
    """
    if namespace is None:
        say("No resources found")
        return
    refuse_missing_namespace(client, namespace)
    say(f"No resources found in {namespace} namespace.")


def names_of(client: masthead.Client, selected: Selected) -> list[str]:
    """The names of the objects of a resource, at most some hundred; none if they cannot be listed."""
    return _names(client.metadata(selected.resource.gvr, namespace=selected.namespace))


def _names(resource: masthead.clientset.MetadataResource) -> list[str]:
    try:
        return [obj.metadata.name for obj in resource.list(limit=_NAMES)]
    # A hint is not worth an error: the user may lack the permission to list.
    except MastheadError:
        return []
