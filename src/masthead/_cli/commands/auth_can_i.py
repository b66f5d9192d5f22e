"""``masthead auth can-i``: whether an action is allowed, and which ones are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from masthead._cli.completion import complete_references, complete_verbs
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.server_warnings import say_warning
from masthead._cli.terminal import write

if TYPE_CHECKING:
    import masthead
    from masthead._cli.shared_options import State
    from masthead._discovery.model import ServedResource
    from masthead._meta.plain import Plain

__all__ = ["can_i", "denial_line"]

_OBJECT_VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_RESOURCE_VERBS: Final = frozenset(
    (*_OBJECT_VERBS, "use", "bind", "impersonate", "*", "approve", "sign", "escalate", "attest")
)
_URL_VERBS: Final = frozenset(("get", "put", "post", "head", "options", "delete", "patch", "*"))
_UNDISCOVERED: Final = frozenset({"users", "groups"})
"""What can be impersonated, but is no resource of the server."""


@dataclass(frozen=True, slots=True)
class _Question:
    """The arguments, as they were typed."""

    verb: str | None
    target: str | None
    subresource: str
    is_list: bool
    quiet: bool
    no_headers: bool


@cluster_command("can-i", all_namespaces=True)
@click.argument("verb", required=False, shell_complete=complete_verbs)
@click.argument("target", required=False, metavar="[KIND[/NAME] | /URL]", shell_complete=complete_references)
@click.option("--list", "is_list", is_flag=True, help="print all that is allowed in the namespace")
@click.option("--subresource", default="", metavar="NAME", help="a subresource, such as log or scale")
@click.option("-q", "--quiet", is_flag=True, help="print nothing; the exit code says it")
@click.option("--no-headers", is_flag=True, help="with --list: no heading")
@click.pass_obj
def can_i(
    state: State,
    verb: str | None,
    target: str | None,
    is_list: bool,
    subresource: str,
    quiet: bool,
    no_headers: bool,
) -> int:
    """Print whether you may do something: yes, or no with exit code 1.

    VERB is one of the API, such as get, list, create or delete; * means all, of verbs and of resources. With --as, the
    question is about another user.

    \b
    masthead auth can-i create pods -n shop
    masthead auth can-i get pods/web --subresource=log
    masthead auth can-i list nodes --as=system:serviceaccount:shop:web -q
    masthead auth can-i get /metrics
    masthead auth can-i --list -n shop
    """
    question = _Question(verb, target, subresource, is_list, quiet, no_headers)
    _refuse_bad_combinations(question, state)
    with state.connect() as client:
        return _print_rules(client, state, question) if is_list else _print_answer(client, state, question)


def _refuse_bad_combinations(question: _Question, state: State) -> None:
    """Check the arguments, before anything is sent.

    Raises:
        CommandError: If they exclude each other, or some are missing.
    """
    if question.is_list:
        if question.verb is not None:
            raise _usage("--list takes no arguments")
        if question.quiet or question.subresource or state.all_namespaces:
            raise _usage("--list excludes -q, -A and --subresource")
        return
    if question.no_headers:
        raise _usage("--no-headers is for --list")
    if question.verb is None or question.target is None:
        raise CommandError(
            "you must specify two arguments: verb resource or verb resource/resourceName",
            hint="masthead auth can-i list pods; --list prints all that is allowed",
            code=ExitCode.USAGE,
        )
    if question.target.startswith("/") and question.subresource:
        raise _usage("--subresource is for resources, not for URLs")


def _usage(line: str) -> CommandError:
    return CommandError(line, code=ExitCode.USAGE)


def _print_rules(client: masthead.Client, state: State, question: _Question) -> int:
    from masthead._cli.access_rules import merge_rules, rule_lines
    from masthead._meta.plain import flag, part, text
    from masthead._printers.layout import lay_out

    review = client.authorization_v1.self_subject_rules_reviews().create({"spec": {"namespace": client.namespace}})
    status = part(review.to_dict(), "status")
    if flag(status, "incomplete"):
        say_warning(f"the list may be incomplete: {text(status, 'evaluationError')}", no_color=state.no_color)
    lines = rule_lines(merge_rules(status), headers=not question.no_headers)
    write(f"{lay_out(lines)}\n" if lines else "")
    return ExitCode.OK


def _print_answer(client: masthead.Client, state: State, question: _Question) -> int:
    from masthead._meta.plain import flag, part

    assert question.verb is not None
    assert question.target is not None
    is_url = question.target.startswith("/")
    if is_url:
        spec: Plain = {"nonResourceAttributes": {"verb": question.verb, "path": question.target}}
    else:
        spec = {"resourceAttributes": _resource_attributes(client, state, question.verb, question.target)}
        spec["resourceAttributes"]["subresource"] = question.subresource
    if question.verb not in (_URL_VERBS if is_url else _RESOURCE_VERBS):
        say_warning(f"verb '{question.verb}' is not a known verb", no_color=state.no_color)
    review = client.authorization_v1.self_subject_access_reviews().create({"spec": spec})
    status = part(review.to_dict(), "status")
    allowed = flag(status, "allowed")
    if not question.quiet:
        write("yes\n" if allowed else denial_line(status))
    return ExitCode.OK if allowed else ExitCode.FAILED


def denial_line(status: Plain) -> str:
    """Return the line for a denial, with the server's reasons."""
    from masthead._meta.plain import text

    return " - ".join(filter(None, ("no", text(status, "reason"), text(status, "evaluationError")))) + "\n"


def _resource_attributes(client: masthead.Client, state: State, verb: str, target: str) -> Plain:
    typed, _, name = target.partition("/")
    found = _find_resource(client, state, typed)
    if found is not None and not found.namespaced and not state.all_namespaces:
        group = f" in group '{found.gvr.group}'" if found.gvr.group else ""
        say_warning(f"resource '{found.name}' is not namespace scoped{group}", no_color=state.no_color)
    # A resource that is not served may be allowed: its definition may come later.
    resource, _, group = typed.partition(".")
    return {
        "namespace": "" if state.all_namespaces else client.namespace,
        "verb": verb,
        "group": group if found is None else found.gvr.group,
        "resource": resource if found is None else found.name,
        "name": name,
    }


def _find_resource(client: masthead.Client, state: State, typed: str) -> ServedResource | None:
    from masthead.errors import UnknownKindError

    if typed == "*":
        return None
    try:
        return client.mapper.find(typed)
    except UnknownKindError:
        resource, _, group = typed.lower().partition(".")
        if typed not in _UNDISCOVERED:
            where = f" in group '{group}'" if group else ""
            say_warning(f"the server doesn't have a resource type '{resource}'{where}", no_color=state.no_color)
        return None
