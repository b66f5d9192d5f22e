"""``masthead create`` for objects with few fields: namespaces, service accounts, quotas, budgets and priorities."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import click

from masthead._cli.creating import creation_options, make_metadata, print_generated, refuse
from masthead._cli.framework import cluster_command, switch_option

if TYPE_CHECKING:
    from typing import Unpack

    from masthead._cli.creating import CreationArguments
    from masthead._cli.shared_options import State
    from masthead._meta.labels import Selector
    from masthead._meta.plain import Plain

__all__ = ["namespace", "poddisruptionbudget", "priorityclass", "quota", "serviceaccount"]

_AMOUNT: Final = re.compile(r"[0-9]+%?", re.ASCII)


@cluster_command("namespace")
@click.argument("name")
@creation_options
@click.pass_obj
def namespace(state: State, /, name: str, **options: Unpack[CreationArguments]) -> int:
    """Create a namespace.

    \b
    masthead create namespace shop
    """
    obj: Plain = {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": make_metadata(name),
        "spec": {},
        "status": {},
    }
    return print_generated(state, obj, options)


@cluster_command("serviceaccount")
@click.argument("name")
@creation_options
@click.pass_obj
def serviceaccount(state: State, /, name: str, **options: Unpack[CreationArguments]) -> int:
    """Create a service account.

    \b
    masthead create serviceaccount operator -n shop
    """
    obj: Plain = {
        "kind": "ServiceAccount",
        "apiVersion": "v1",
        "metadata": make_metadata(name, state.namespace),
    }
    return print_generated(state, obj, options)


@cluster_command("quota")
@click.argument("name")
@click.option("--hard", default="", metavar="RESOURCE=QUANTITY,...", help="the limits")
@click.option("--scopes", default="", metavar="SCOPE,...", help="count only what all of these scopes cover")
@creation_options
@click.pass_obj
def quota(state: State, /, name: str, hard: str, scopes: str, **options: Unpack[CreationArguments]) -> int:
    """Create a ResourceQuota.

    \b
    masthead create quota small --hard=cpu=2,memory=4Gi,pods=10
    masthead create quota spare --hard=pods=100 --scopes=BestEffort
    """
    found = scopes.split(",") if scopes else []
    if not all(found):
        raise refuse(f"--scopes: {scopes!r} has an empty scope")
    limits = _parse_limits(hard)
    spec: Plain = {**({"hard": limits} if limits else {}), **({"scopes": found} if found else {})}
    obj: Plain = {
        "kind": "ResourceQuota",
        "apiVersion": "v1",
        "metadata": make_metadata(name, state.namespace),
        "spec": spec,
        "status": {},
    }
    return print_generated(state, obj, options)


def _parse_limits(text: str) -> dict[str, str]:
    from masthead._meta.quantity import Quantity
    from masthead.errors import QuantityError

    found: dict[str, str] = {}
    for part in text.split(",") if text else ():
        resource, equals, quantity = part.partition("=")
        if not equals or "=" in quantity:
            raise refuse(f"--hard: {part!r} is not RESOURCE=QUANTITY")
        try:
            found[resource] = str(Quantity(quantity))
        except QuantityError as error:
            raise refuse(f"--hard: {error}") from None
    return dict(sorted(found.items()))


@cluster_command("poddisruptionbudget")
@click.argument("name")
@click.option("--selector", default="", metavar="SELECTOR", help="the labels of its pods")
@click.option("--min-available", default="", metavar="COUNT|PERCENT%", help="how many pods have to be available")
@click.option("--max-unavailable", default="", metavar="COUNT|PERCENT%", help="how many pods may be unavailable")
@creation_options
@click.pass_obj
def poddisruptionbudget(
    state: State,
    /,
    name: str,
    selector: str,
    min_available: str,
    max_unavailable: str,
    **options: Unpack[CreationArguments],
) -> int:
    """Create a PodDisruptionBudget.

    \b
    masthead create poddisruptionbudget web --selector=app=web --min-available=50%
    """
    from masthead._meta import labels
    from masthead._meta.intstr import parse_int_or_string
    from masthead.errors import SelectorError

    if not selector:
        raise refuse("name the pods with --selector")
    if bool(min_available) == bool(max_unavailable):
        raise refuse("name --min-available or --max-unavailable")
    field, amount = ("minAvailable", min_available) if min_available else ("maxUnavailable", max_unavailable)
    if not _AMOUNT.fullmatch(amount):
        raise refuse(f"{amount!r} is neither a number nor a percentage")
    try:
        chosen = _make_selector(labels.parse(selector))
    except SelectorError as error:
        raise refuse(f"--selector: {error}") from None
    value = parse_int_or_string(amount)
    # In Go's order of fields.
    spec = {"minAvailable": value, "selector": chosen} if min_available else {"selector": chosen, field: value}
    obj: Plain = {
        "kind": "PodDisruptionBudget",
        "apiVersion": "policy/v1",
        "metadata": make_metadata(name, state.namespace),
        "spec": spec,
        # Go writes these numbers even if they are zero.
        "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
    }
    return print_generated(state, obj, options)


def _make_selector(selector: Selector) -> Plain:
    """A selector of the command line in the form of the API.

    Raises:
        CommandError: If the API has no such operator.
    """
    from masthead._meta.labels import Operator

    forms = {
        Operator.IN: "In",
        Operator.NOT_IN: "NotIn",
        Operator.NOT_EQUALS: "NotIn",
        Operator.EXISTS: "Exists",
        Operator.DOES_NOT_EXIST: "DoesNotExist",
    }
    equal: dict[str, str] = {}
    expressions: list[Plain] = []
    for requirement in selector.requirements:
        if requirement.operator in {Operator.EQUALS, Operator.DOUBLE_EQUALS}:
            equal[requirement.key] = requirement.values[0]
        elif requirement.operator in forms:
            values = {"values": sorted(requirement.values)} if requirement.values else {}
            expressions.append({"key": requirement.key, "operator": forms[requirement.operator], **values})
        else:
            raise refuse(f"--selector: a budget has no operator {requirement.operator}")
    return {
        **({"matchLabels": dict(sorted(equal.items()))} if equal else {}),
        **({"matchExpressions": expressions} if expressions else {}),
    }


@cluster_command("priorityclass")
@click.argument("name")
@click.option("--value", type=int, default=0, show_default=True, metavar="NUMBER", help="the priority")
@switch_option("--global-default", help_="the class of all pods that name none")
@click.option("--description", default="", metavar="TEXT", help="when to use it")
@click.option(
    "--preemption-policy",
    default="PreemptLowerPriority",
    show_default=True,
    metavar="POLICY",
    help="PreemptLowerPriority or Never",
)
@creation_options
@click.pass_obj
def priorityclass(
    state: State,
    /,
    name: str,
    value: int,
    global_default: bool | None,
    description: str,
    preemption_policy: str,
    **options: Unpack[CreationArguments],
) -> int:
    """Create a PriorityClass.

    \b
    masthead create priorityclass high --value=1000 --description='the shop itself'
    masthead create priorityclass polite --value=1000 --preemption-policy=Never
    """
    obj: Plain = {
        "kind": "PriorityClass",
        "apiVersion": "scheduling.k8s.io/v1",
        "metadata": make_metadata(name),
        "value": value,
        **({"globalDefault": True} if global_default else {}),
        **({"description": description} if description else {}),
        "preemptionPolicy": preemption_policy,
    }
    return print_generated(state, obj, options)
