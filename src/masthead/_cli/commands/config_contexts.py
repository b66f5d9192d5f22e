"""``masthead config``: commands about contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from masthead._cli.completion import complete_clusters, complete_contexts, complete_namespaces, complete_users
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command
from masthead._cli.kubeconfigs import KubeconfigFiles, change_entry, remove_entry
from masthead._cli.references import nearest
from masthead._cli.terminal import say, write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._cli.kubeconfigs import Entry
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["current_context", "get_contexts", "rename_context", "set_context", "use_context"]

_HEADINGS: Final = ("CURRENT", "NAME", "CLUSTER", "AUTHINFO", "NAMESPACE")


@cluster_command("get-contexts")
@click.argument("names", nargs=-1, metavar="[NAME...]", shell_complete=complete_contexts)
@click.option("-o", "--output", type=click.Choice(("name",)), help="only the names")
@click.option("--no-headers", is_flag=True, help="no heading")
@click.pass_obj
def get_contexts(state: State, names: tuple[str, ...], output: str | None, no_headers: bool) -> int:
    """List the contexts, or some of them; the current one has a star.

    \b
    masthead config get-contexts
    masthead config get-contexts -o name
    """
    merged = KubeconfigFiles.of(state.kubeconfig).load()
    contexts = merged.entries("contexts")
    shown = sorted(name for name in names or contexts if name in contexts)
    if output == "name":
        write("".join(f"{name}\n" for name in shown))
    else:
        _write_table(contexts, shown, merged.current_context, headers=not no_headers)
    missing = [name for name in names if name not in contexts]
    for name in missing[:-1]:
        say(f"{state.command_path}: context {name} not found")
    if missing:
        raise _not_found(f"context {missing[-1]} not found", missing[-1], contexts)
    return ExitCode.OK


def _write_table(contexts: Mapping[str, Entry], names: list[str], current: str, *, headers: bool) -> None:
    from masthead._meta.plain import text
    from masthead._printers.layout import lay_out

    lines: list[tuple[str, ...]] = [_HEADINGS] if headers else []
    for name in names:
        content = contexts[name].content
        fields = (text(content, field) for field in ("cluster", "user", "namespace"))
        lines.append(("*" if name == current else " ", name, *fields))
    write(f"{lay_out(lines)}\n" if lines else "")


def _not_found(line: str, name: str, contexts: Mapping[str, Entry]) -> CommandError:
    hint = nearest(name, list(contexts)) or "masthead config get-contexts lists them"
    return CommandError(line, hint=hint, code=ExitCode.NOT_FOUND)


@cluster_command("current-context")
@click.pass_obj
def current_context(state: State) -> int:
    """Print the name of the current context."""
    current = KubeconfigFiles.of(state.kubeconfig).load().current_context
    if not current:
        raise CommandError("current-context is not set", hint="masthead config use-context NAME sets it")
    write(f"{current}\n")
    return ExitCode.OK


@cluster_command("use-context")
@click.argument("name", shell_complete=complete_contexts)
@click.pass_obj
def use_context(state: State, name: str) -> int:
    """Make a context the current one.

    \b
    masthead config use-context prod
    """
    files = KubeconfigFiles.of(state.kubeconfig)
    contexts = files.load().entries("contexts")
    if name not in contexts:
        raise _not_found(f'no context exists with the name: "{name}"', name, contexts)
    files.set_current_context(name)
    write(f'Switched to context "{name}".\n')
    return ExitCode.OK


@cluster_command("rename-context")
@click.argument("name", shell_complete=complete_contexts)
@click.argument("new_name")
@click.pass_obj
def rename_context(state: State, name: str, new_name: str) -> int:
    """Rename a context. The current context stays the current one.

    \b
    masthead config rename-context kind-dev dev
    """
    if not new_name:
        raise CommandError("you must specify a new non-empty context name", code=ExitCode.USAGE)
    files = KubeconfigFiles.of(state.kubeconfig)
    merged = files.load()
    contexts = merged.entries("contexts")
    if name not in contexts:
        raise _not_found(f'cannot rename the context "{name}", it\'s not in {files.default}', name, contexts)
    if new_name in contexts:
        raise CommandError(
            f'cannot rename the context "{name}", the context "{new_name}" already exists in {contexts[new_name].path}'
        )
    _rename(files, contexts[name], name, new_name)
    if merged.current_context == name:
        files.set_current_context(new_name)
    write(f'Context "{name}" renamed to "{new_name}".\n')
    return ExitCode.OK


def _rename(files: KubeconfigFiles, entry: Entry, name: str, new_name: str) -> None:
    def change(document: Plain) -> None:
        change_entry("contexts", new_name, lambda content: content.update(entry.content))(document)
        remove_entry("contexts", name)(document)

    files.change(entry.path, change)


@cluster_command("set-context")
@click.argument("name", required=False, shell_complete=complete_contexts)
@click.option("--current", is_flag=True, help="change the current context")
@click.option("--cluster", metavar="NAME", shell_complete=complete_clusters, help="its cluster")
@click.option("--user", metavar="NAME", shell_complete=complete_users, help="its user")
@click.option(
    "-n", "--namespace", "default_namespace", metavar="NAME", shell_complete=complete_namespaces, help="its namespace"
)
@click.pass_obj
def set_context(
    state: State,
    name: str | None,
    current: bool,
    cluster: str | None,
    user: str | None,
    default_namespace: str | None,
) -> int:
    """Create a context, or change some of its fields.

    \b
    masthead config set-context --current --namespace=shop
    masthead config set-context dev --cluster=kind --user=admin
    """
    if bool(name) == current:
        problem = "you cannot specify both a context name and --current"
        raise CommandError(
            problem if current else "you must specify a non-empty context name or --current", code=ExitCode.USAGE
        )
    namespace = default_namespace if default_namespace is not None else state.namespace
    _refuse_bad_namespace(namespace)
    files = KubeconfigFiles.of(state.kubeconfig)
    merged = files.load()
    chosen = merged.current_context if name is None else name
    if not chosen:
        raise CommandError("no current context is set", hint="masthead config use-context NAME sets it")
    _set_fields(files, merged.entries("contexts"), chosen, {"cluster": cluster, "user": user, "namespace": namespace})
    write(f'Context "{chosen}" {"modified" if chosen in merged.entries("contexts") else "created"}.\n')
    return ExitCode.OK


def _refuse_bad_namespace(namespace: str | None) -> None:
    from masthead._meta.names import problem_with_dns1123_label, quote

    # An empty one removes the namespace.
    if namespace and (problem := problem_with_dns1123_label(namespace)):
        raise CommandError(f"-n: {quote(namespace)} {problem}", code=ExitCode.USAGE)


def _set_fields(
    files: KubeconfigFiles, contexts: Mapping[str, Entry], name: str, fields: Mapping[str, str | None]
) -> None:
    def change(content: Plain) -> None:
        content |= {field: value for field, value in fields.items() if value is not None}
        # An empty namespace is omitted; cluster and user are always written.
        if not content.get("namespace"):
            content.pop("namespace", None)

    path = contexts[name].path if name in contexts else files.default
    files.change(path, change_entry("contexts", name, change))
