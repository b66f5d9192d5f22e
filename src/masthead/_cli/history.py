"""``masthead history``: what happened to an object, or between two moments, as a recording tells."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._arguments import ArgumentParser
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.terminal import has_color, say, style, write
from masthead.errors import ArgumentError
from masthead.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from masthead.recording import FieldChange, ObservedChange, RecordedGap, RecordedKind

__all__ = ["main"]

_COLORS: Final = {"ADDED": "green", "STATE": "green", "MODIFIED": "yellow", "DELETED": "red", "GAP": "magenta"}
_EPILOG: Final = """\
A MOMENT is a time (2026-01-31T12:00:00Z), an offset from the begin of the
recording (+90s, +5m), or a resource version.

masthead history pod/web --from incident.mhr
masthead history --from incident.mhr --diff +1m +5m
"""


def main(arguments: Sequence[str], *, name: str = "masthead history") -> int:
    """Print the changes of an object, or the difference of two moments; return the exit code.

    Args:
        arguments: The arguments after ``history``.
        name: The name of the command in messages.

    Raises:
        CommandError: If arguments do not fit together, or the object is not in the recording.
        RecordingError: If the recording cannot be read.
    """
    chosen = _parser(name).parse_args(arguments)
    with Recording(chosen.recording) as recording:
        # A warning only: what was recorded before is what people look for after a crash.
        if recording.cut_off:
            say(f"warning: the end of the recording is missing: {recording.cut_off}")
        try:
            lines = _print_diff(recording, chosen) if chosen.diff else _print_history(recording, chosen)
            for line in lines:
                write(f"{line}\n")
        # A moment or a kind that the recording lacks is a mistake in the command.
        except ArgumentError as error:
            raise CommandError(str(error), code=ExitCode.USAGE) from None
    return 0


def _parser(name: str) -> ArgumentParser:
    parser = ArgumentParser(
        prog=name,
        description="Print each change of an object with the field managers that made it, from a recording.",
        epilog=_EPILOG,
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("object", nargs="?", metavar="KIND/NAME", help="the object, such as pod/web")
    parser.add_argument("--from", dest="recording", metavar="FILE", required=True, help="the recording")
    parser.add_argument("-n", "--namespace", metavar="NAME", help="the object's namespace (the only one that has it)")
    parser.add_argument("--since", metavar="MOMENT", help="only changes after this moment")
    parser.add_argument("--until", metavar="MOMENT", help="only changes until this moment")
    parser.add_argument("--diff", nargs=2, metavar="MOMENT", help="what differs between two moments")
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="text, or a line of JSON for each change"
    )
    parser.add_argument("--no-color", action="store_true", help="no colors")
    return parser


def _print_history(recording: Recording, chosen: argparse.Namespace) -> Iterator[str]:
    kind, name, namespace = _object(recording, chosen)
    changes = _within(recording, recording.history(kind.resource, name, namespace), chosen)
    color = has_color(no_color=chosen.no_color)
    if chosen.output == "json":
        yield from (msgspec.json.encode(_as_data(change)).decode() for change in changes)
        return
    # Gaps of other kinds and namespaces say nothing about this object.
    gaps = [gap for gap in recording.gaps if gap.kind in {None, kind} and gap.namespace in {"", namespace}]
    for change in changes:
        while gaps and gaps[0].until <= change.time:
            yield _gap_line(gaps.pop(0), color=color)
        yield _change_line(change, color=color)
        yield from (f"    {field}" for field in change.fields())
    for gap in gaps:
        yield _gap_line(gap, color=color)


def _object(recording: Recording, chosen: argparse.Namespace) -> tuple[RecordedKind, str, str]:
    """The object that is meant, with its namespace.

    Raises:
        CommandError: If there is none, or several.
    """
    text, slash, name = str(chosen.object or "").partition("/")
    if not slash or not name:
        raise CommandError("name an object, such as pod/web; or two moments with --diff", code=ExitCode.USAGE)
    kind = recording.find_kind(text)
    if not kind.namespaced:
        namespaces = [""]
    elif chosen.namespace:
        namespaces = [chosen.namespace]
    else:
        # Without -n, the name alone decides if it is in one namespace only.
        namespaces = sorted({change.namespace for change in recording.changes(kind.resource) if change.name == name})
    found = [each for each in namespaces if recording.history(kind.resource, name, each)]
    if not found:
        where = f" in namespace {chosen.namespace}" if chosen.namespace else ""
        raise CommandError(f"the recording has no {kind.gvk.kind} {name}{where}", code=ExitCode.NOT_FOUND)
    if len(found) > 1:
        raise CommandError(
            f"{kind.gvk.kind} {name} is in several namespaces: {', '.join(found)}", hint="choose one with -n"
        )
    return kind, name, found[0]


def _within(
    recording: Recording, changes: Sequence[ObservedChange], chosen: argparse.Namespace
) -> Sequence[ObservedChange]:
    # The change at the moment itself is that before it: its state is where the interval begins.
    first = recording.position_of(chosen.since) if chosen.since else -1
    last = recording.position_of(chosen.until) if chosen.until else len(recording)
    return [change for change in changes if first < change.position <= last]


def _print_diff(recording: Recording, chosen: argparse.Namespace) -> Iterator[str]:
    first, second = chosen.diff
    kind, name, namespace = _object(recording, chosen) if chosen.object else (None, "", "")
    key = f"{namespace}/{name}" if namespace else name
    for change in recording.diff(first, second, kind.resource if kind is not None else None):
        # A kind may have many objects, and one of them is meant.
        if name and change.key != key:
            continue
        if chosen.output == "json":
            data = {
                "type": change.type,
                "kind": change.kind.gvk.kind,
                "object": change.key,
                "fields": list(map(_field_as_data, change.fields)),
            }
            yield msgspec.json.encode(data).decode()
        else:
            yield str(change)


def _change_line(change: ObservedChange, *, color: bool) -> str:
    seen = "  (seen by a list: states before may be missing)" if change.is_listed else ""
    word = _paint(f"{change.type:8}", change.type, color=color)
    return f"{_time(change.time)}  {word}  version {change.version}{seen}"


def _gap_line(gap: RecordedGap, *, color: bool) -> str:
    word = _paint("GAP     ", "GAP", color=color)
    return f"{_time(gap.until)}  {word}  changes since {_time(gap.since)} may be missing: {gap.why}"


def _time(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}.{time.microsecond // 1000:03}Z"


def _paint(text: str, name: str, *, color: bool) -> str:
    return style(text, _COLORS[name] if color else "")


def _as_data(change: ObservedChange) -> dict[str, object]:
    return {
        "position": change.position,
        "time": change.time.isoformat(),
        "type": change.type,
        "kind": change.kind.gvk.kind,
        "object": change.key,
        "version": change.version,
        "listed": change.is_listed,
        "fields": list(map(_field_as_data, change.fields())),
    }


def _field_as_data(field: FieldChange) -> dict[str, object]:
    return {"path": field.path, "before": field.before, "after": field.after, "manager": field.manager}
