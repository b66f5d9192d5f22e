"""The text of ``describe`` for pods, and for the pod template of a workload. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._cli.document import Line, fields, heading, line, outline
from masthead._meta.plain import entries, flag, integer, part, text, texts
from masthead._printers.ages import age
from masthead._printers.formats import quantity
from masthead._printers.status import status_style

if TYPE_CHECKING:
    from datetime import datetime

    from masthead._meta.plain import Plain

__all__ = ["pod_sections", "template_sections"]

_KINDS: Final = (
    ("initContainers", "initContainerStatuses", "init container"),
    ("containers", "containerStatuses", "container"),
    ("ephemeralContainers", "ephemeralContainerStatuses", "ephemeral container"),
)
_PROBES: Final = ("startupProbe", "readinessProbe", "livenessProbe")


def pod_sections(pod: Plain, now: datetime) -> list[list[Line]]:
    """The sections of a pod.

    Args:
        pod: The pod.
        now: The time that ages refer to.
    """
    spec, status = part(pod, "spec"), part(pod, "status")
    facts = fields(
        [
            ("phase", text(status, "phase")),
            ("reason", " ".join(filter(None, (text(status, "reason"), text(status, "message"))))),
            ("node", _node(spec, status)),
            (
                "IP",
                ", ".join(text(entry, "ip") for entry in entries(status, "podIPs")) or text(status, "podIP"),
            ),
            ("service account", text(spec, "serviceAccountName")),
            ("quality of service", text(status, "qosClass")),
            ("priority", _priority(spec)),
            ("runtime class", text(spec, "runtimeClassName")),
            ("node selector", _pairs(part(spec, "nodeSelector"))),
            (
                "readiness gates",
                ", ".join(text(entry, "conditionType") for entry in entries(spec, "readinessGates")),
            ),
        ]
    )
    sections = [[heading("Pod"), *facts]]
    for names, statuses, kind in _KINDS:
        # Matched by name: the statuses may be in another order, and are missing before the kubelet's first report.
        states = {text(entry, "name"): entry for entry in entries(status, statuses)}
        lines = [
            one
            for entry in entries(spec, names)
            for one in _container(entry, kind, states.get(text(entry, "name")), now)
        ]
        if lines:
            sections.append([heading(f"{kind.capitalize()}s"), *lines])
    return [*sections, _volumes(spec)]


def template_sections(template: Plain) -> list[list[Line]]:
    """The sections of a workload's pod template.

    Args:
        template: The pod template.
    """
    spec = part(template, "spec")
    facts = fields(
        [
            ("labels", _pairs(part(template, "metadata", "labels"))),
            ("annotations", _pairs(part(template, "metadata", "annotations"))),
            ("service account", text(spec, "serviceAccountName")),
            ("node selector", _pairs(part(spec, "nodeSelector"))),
        ]
    )
    lines: list[Line] = []
    for names, _, kind in _KINDS:
        for entry in entries(spec, names):
            lines += _container(entry, kind, None, None)
    return [[heading("Pod template"), *facts, *lines], _volumes(spec)]


def _node(spec: Plain, status: Plain) -> str:
    name, address = text(spec, "nodeName"), text(status, "hostIP")
    return f"{name} ({address})" if name and address else name


def _priority(spec: Plain) -> str:
    number, name = spec.get("priority"), text(spec, "priorityClassName")
    # Priority 0 is the default of pods without a class.
    return f"{name} ({number})" if name else str(number or "")


def _pairs(values: Plain) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items())


def _container(container: Plain, kind: str, status: Plain | None, now: datetime | None) -> list[Line]:
    title = line((text(container, "name"), "bold"), *([] if kind == "container" else [f"  {kind}"]), indent=1)
    how = _status(status, now) if status is not None and now is not None else []
    probes = [(name.removesuffix("Probe"), _probe(part(container, name))) for name in _PROBES]
    facts = fields(
        [
            *how,
            ("image", text(container, "image")),
            ("command", " ".join([*texts(container, "command"), *texts(container, "args")])),
            ("ports", ", ".join(map(_port, entries(container, "ports")))),
            ("requests", _quantities(part(container, "resources", "requests"))),
            ("limits", _quantities(part(container, "resources", "limits"))),
            *probes,
            ("environment", ", ".join(_variable(entry) for entry in entries(container, "env"))),
            ("environment from", ", ".join(map(_source, entries(container, "envFrom")))),
            ("mounts", ", ".join(map(_mount, entries(container, "volumeMounts")))),
        ],
        indent=2,
    )
    return [title, *facts]


def _status(status: Plain, now: datetime) -> list[tuple[str, object]]:
    state = _state(part(status, "state"), now)
    is_ready = "true" if flag(status, "ready") else "false"
    restarts = integer(status, "restartCount")
    return [
        # The first word only: the rest is a duration or a message.
        ("state", (state, status_style(state.partition(" ")[0].rstrip(",")))),
        ("last state", _state(part(status, "lastState"), now)),
        ("ready", (is_ready, status_style(is_ready))),
        ("restarts", (str(restarts), "yellow") if restarts else ""),
    ]


def _state(state: Plain, now: datetime) -> str:
    # The API sets at most one of the three states, and none before the container is created.
    if running := part(state, "running"):
        return f"Running for {age(running.get('startedAt'), now)}"
    if waiting := part(state, "waiting"):
        return ", ".join(filter(None, (text(waiting, "reason") or "Waiting", text(waiting, "message"))))
    ended = part(state, "terminated")
    if not ended:
        return ""
    reason = text(ended, "reason") or "Terminated"
    code = f"exit code {integer(ended, 'exitCode')}"
    when = f"{age(ended.get('finishedAt'), now)} ago" if text(ended, "finishedAt") else ""
    return ", ".join(filter(None, (reason, code, when, text(ended, "message"))))


def _port(port: Plain) -> str:
    number = str(integer(port, "containerPort"))
    protocol = text(port, "protocol") or "TCP"
    shown = number if protocol == "TCP" else f"{number}/{protocol}"
    return f"{shown} ({text(port, 'name')})" if text(port, "name") else shown


def _quantities(values: Plain) -> str:
    return ", ".join(f"{key} {quantity(value)}" for key, value in values.items())


def _probe(probe: Plain) -> str:
    """What a probe does, and how often."""
    if not probe:
        return ""
    http, socket, command = part(probe, "httpGet"), part(probe, "tcpSocket"), part(probe, "exec")
    grpc = part(probe, "grpc")
    if http:
        scheme = (text(http, "scheme") or "HTTP").lower()
        what = f"{scheme} {text(http, 'path') or '/'} on port {http.get('port')}"
    elif socket:
        what = f"tcp on port {socket.get('port')}"
    elif grpc:
        what = f"grpc on port {grpc.get('port')}"
    else:
        what = f"runs {' '.join(texts(command, 'command'))}"
    every = integer(probe, "periodSeconds")
    return f"{what}, every {every} s" if every else what


def _variable(variable: Plain) -> str:
    """A variable and its value, or where the value comes from."""
    name, source = text(variable, "name"), part(variable, "valueFrom")
    # A secret's name and key, but never its value.
    for key, word in (("secretKeyRef", "secret"), ("configMapKeyRef", "configmap")):
        if reference := part(source, key):
            return f"{name} from {word} {text(reference, 'name')}/{text(reference, 'key')}"
    if field := part(source, "fieldRef"):
        return f"{name} from {text(field, 'fieldPath')}"
    if field := part(source, "resourceFieldRef"):
        return f"{name} from {text(field, 'resource')}"
    return f"{name}={text(variable, 'value')}"


def _source(source: Plain) -> str:
    for key, word in (("secretRef", "secret"), ("configMapRef", "configmap")):
        if reference := part(source, key):
            return f"{word} {text(reference, 'name')}"
    return ""


def _mount(mount: Plain) -> str:
    how = " (read-only)" if flag(mount, "readOnly") else ""
    return f"{text(mount, 'name')} at {text(mount, 'mountPath')}{how}"


def _volumes(spec: Plain) -> list[Line]:
    found = {text(entry, "name"): _volume(entry) for entry in entries(spec, "volumes")}
    return [heading("Volumes"), *outline(found)] if found else []


def _volume(volume: Plain) -> str:
    for kind, source in volume.items():
        # Apart from its name, a volume has one field: its source.
        if kind == "name" or not isinstance(source, dict):
            continue
        reference = next(
            (
                text(part(volume, kind), key)
                for key in ("name", "secretName", "claimName", "path", "driver")
                if text(part(volume, kind), key)
            ),
            "",
        )
        return f"{kind} {reference}".strip()
    return ""
