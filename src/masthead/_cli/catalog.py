"""The commands, by name: what ``masthead --help`` lists, and where each one is implemented.

Nothing is imported to list them, so that help, completion and errors are quick, and work without the extra ``cli``.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CATALOG", "EXTRA", "GLOBAL_OPTIONS", "Entry", "explain_unknown", "usage"]

EXTRA: Final = "pip install 'masthead-k8s[cli]'"
"""What installs what the commands need that talk to a cluster."""


class Entry(NamedTuple):
    """A command.

    Attributes:
        name: Its name.
        summary: What it does, in a few words.
        section: The heading below which help lists it.
        program: The module whose ``main(arguments, name=...)`` is the whole command, without click, and returns the
            exit code or raises; empty for a command of the framework, ``command`` in ``masthead._cli.commands.NAME``.
        framework_option: The option that makes a program a command of the framework with the same name, if any.
    """

    name: str
    summary: str
    section: str
    program: str = ""
    framework_option: str = ""

    def is_program(self, arguments: Sequence[str]) -> bool:
        """Whether it is a plain program with these arguments."""
        given = (argument.partition("=")[0] for argument in itertools.takewhile(_is_own, arguments))
        return bool(self.program) and not (self.framework_option and self.framework_option in given)


def _is_own(argument: str) -> bool:
    """Whether an argument may be the command's; those behind ``--`` belong to a container."""
    return argument != "--"


_OBJECTS: Final = "Look at objects"
_CHANGE: Final = "Change objects"
_PODS: Final = "Work in pods"
_CLUSTER: Final = "A cluster, and this machine"
_BUILD: Final = "Build operators"

CATALOG: Final[dict[str, Entry]] = {
    entry.name: entry
    for entry in (
        Entry("get", "print objects as kubectl does: tables, YAML, JSON, names", _OBJECTS),
        Entry("watch", "show objects live, in a table that follows every change", _OBJECTS),
        Entry("describe", "all about an object: its state, conditions and events", _OBJECTS),
        Entry("tree", "owners and dependents of an object, live with -w", _OBJECTS),
        Entry("ui", "all of it in the browser, live or recorded, with a time axis", _OBJECTS),
        Entry("explain", "the fields of a kind, and what they mean", _OBJECTS),
        Entry("events", "what happened, newest last", _OBJECTS),
        Entry("history", "what happened to an object, from a recording", _OBJECTS, "masthead._cli.history"),
        Entry("top", "the CPU and memory that pods and nodes use", _OBJECTS),
        Entry("logs", "logs of a pod, or of many at once", _OBJECTS),
        Entry("create", "create objects, by manifests or by options", _CHANGE),
        Entry("apply", "create or change the objects of manifests", _CHANGE),
        Entry("diff", "show what apply would change", _CHANGE),
        Entry("delete", "delete objects, by manifests or by name", _CHANGE),
        Entry("patch", "change some fields of objects", _CHANGE),
        Entry("edit", "change objects in an editor", _CHANGE),
        Entry("label", "set and remove labels", _CHANGE),
        Entry("annotate", "set and remove annotations", _CHANGE),
        Entry("scale", "set the number of replicas", _CHANGE),
        Entry("rollout", "status, history, undo, restart, pause and resume of rollouts", _CHANGE),
        Entry("wait", "wait until objects are ready, gone, or as a condition says", _CHANGE),
        Entry("exec", "run a command in a container", _PODS),
        Entry("attach", "attach to the process that a container runs", _PODS),
        Entry("debug", "debug pods and nodes with containers of their own", _PODS),
        Entry("port-forward", "forward local ports to a pod", _PODS),
        Entry("cp", "copy files into and out of containers", _PODS),
        Entry("version", "the versions of this client and of the server", _CLUSTER),
        Entry("api-resources", "the resources that the server serves", _CLUSTER),
        Entry("api-versions", "the API versions that the server serves", _CLUSTER),
        Entry("auth", "who you are, and what you may do", _CLUSTER),
        Entry("config", "show and change kubeconfig files", _CLUSTER),
        Entry("doctor", "find out what is wrong with the connection to a cluster", _CLUSTER),
        Entry("stats", "objects and bytes of each kind, and how often they change", _CLUSTER),
        Entry("record", "record every change, for replay and for analysis", _CLUSTER),
        Entry("bench", "measure a cluster, and what an informer takes", _CLUSTER),
        Entry("serve", "run an API server without a cluster", _CLUSTER, "masthead._cli.serve"),
        Entry("demo", "see informers and a controller at work under faults", _CLUSTER, "masthead._cli.demo"),
        Entry("plugin", "list the plugins: programs called kubectl-NAME", _CLUSTER),
        Entry("completion", "print the completion script of a shell", _CLUSTER),
        Entry("new", "write a small operator to begin with", _BUILD, "masthead._cli.new"),
        Entry(
            "run",
            "run the manager of an operator; with --image, a pod",
            _BUILD,
            "masthead._cli.run",
            framework_option="--image",
        ),
        Entry("explore", "find schedules under which an operator goes wrong", _BUILD, "masthead._cli.explore"),
        Entry("crds", "print or install the CRDs of a module's classes", _BUILD, "masthead._cli.crds"),
        Entry(
            "manifests",
            "write the permissions and the Deployment of an operator",
            _BUILD,
            "masthead._cli.manifests",
        ),
        Entry("generate", "generate types for a cluster's API or for CRDs", _BUILD, "masthead._cli.generate"),
        Entry("stubs", "let editors show the descriptions of a cluster", _BUILD, "masthead._cli.stubs"),
    )
}

GLOBAL_OPTIONS: Final = """\
  --kubeconfig FILE      the kubeconfig (found as kubectl does)
  --context NAME         the context of the kubeconfig (its current one)
  -n, --namespace NAME   the namespace (the context's)
  --server URL           the API server; without the credentials of a kubeconfig, unless one is named
  --token TOKEN          a bearer token, instead of the user's credentials
  --as USER              the user to impersonate
  --insecure-skip-tls-verify
                         do not verify the server's certificate
  --request-timeout SECONDS
                         how long one request may take (30)
  --debug                tracebacks and logs instead of one line
  --no-color             no colours (as with the variable NO_COLOR)"""


def usage() -> str:
    """The text of ``masthead --help``."""
    lines = ["usage: masthead [options] COMMAND [arguments]", ""]
    for section in dict.fromkeys(entry.section for entry in CATALOG.values()):
        lines.append(f"{section}:")
        lines += [f"  {entry.name:<13} {entry.summary}" for entry in CATALOG.values() if entry.section == section]
        lines.append("")
    lines += [
        "Options, before or after the command:",
        GLOBAL_OPTIONS,
        "  --version              show the version",
        "  -h, --help             show this help; masthead COMMAND --help shows that of a command",
    ]
    return "\n".join(lines) + "\n"


def explain_unknown(name: str) -> tuple[str, str]:
    """Return the message for an unknown command, and a hint: the replacement of kubectl's, or the nearest name."""
    # Only for those who mistype.
    import difflib

    from masthead._cli.kubectl_commands import ALTERNATIVES

    if name in ALTERNATIVES:
        return f"there is no command {name!r}, unlike in kubectl", ALTERNATIVES[name]
    near = next(iter(difflib.get_close_matches(name, CATALOG, n=1)), "")
    hint = f"did you mean {near}?" if near else "masthead --help lists the commands"
    return f"there is no command {name!r}", hint
