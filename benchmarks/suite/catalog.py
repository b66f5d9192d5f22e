"""Every benchmark: how it is run, and which of its figures are drawn."""

from __future__ import annotations

import dataclasses
from typing import Final

LESS: Final = "less is better"
MORE: Final = "more is better"


@dataclasses.dataclass(frozen=True)
class Figure:
    """One panel of a picture.

    Attributes:
        table: The table that it is in; its name, or a pattern of which the first match counts.
        column: The column.
        title: What it is, and its unit.
        hint: What is better.
    """

    table: str
    column: str
    title: str
    hint: str = LESS


@dataclasses.dataclass(frozen=True)
class Picture:
    """Figures that are drawn side by side.

    Attributes:
        name: Of the file.
        title: What is measured.
        figures: All of them have the same rows.
        rows: Patterns of the names of the rows that are drawn; the others would leave no room for these.
        subtitle: How it is measured; by default, the title of the first figure's table.
    """

    name: str
    title: str
    figures: tuple[Figure, ...]
    rows: tuple[str, ...] = ("*",)
    subtitle: str = ""


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """A benchmark.

    Attributes:
        name: Of its results.
        about: What it says to a user, in a sentence.
        pictures: What is drawn of it.
        module: Its package below ``benchmarks``; its name by default.
        options: What it is run with; quick runs have ``--quick`` as well.
        full_options: What it is run with unless it is quick.
    """

    name: str
    about: str
    pictures: tuple[Picture, ...]
    module: str = ""
    options: tuple[str, ...] = ()
    full_options: tuple[str, ...] = ()

    def arguments(self, *, quick: bool) -> tuple[str, ...]:
        """The arguments of Python that run it."""
        chosen = ("--quick",) if quick else self.full_options
        return ("-m", f"benchmarks.{self.module or self.name}", *self.options, *chosen)


STANDALONE: Final = ("authorization", "connections", "explore", "plugin", "policies", "record", "recovery")
"""Programs that ``make bench`` leaves out: they wait for minutes, or install a wheel."""

CATALOG: Final = (
    Benchmark(
        "decode",
        "Reading a long list of pods of 5.9 KB from JSON, and what it holds in memory.",
        (
            Picture(
                "decode",
                "Decoding a list of pods",
                (
                    Figure("list", "us_with_gc", "CPU µs per pod, garbage collector on"),
                    Figure("list", "us", "CPU µs per pod, garbage collector off"),
                ),
            ),
            Picture(
                "decode-memory",
                "A list of pods in memory",
                (Figure("memory", "bytes", "bytes per pod, as Python counts them"),),
            ),
        ),
    ),
    Benchmark(
        "startup",
        "What a program pays before its first request, and a command from start to end.",
        (
            Picture(
                "startup",
                "Imports and the first pod",
                (Figure("startup", "cpu_ms", "CPU ms"), Figure("startup", "modules", "modules loaded")),
            ),
            Picture(
                "startup-commands",
                "Commands of masthead and kubectl",
                (Figure("commands", "cpu_ms", "CPU ms, from start to end"),),
            ),
        ),
    ),
    Benchmark(
        "requests",
        "Small calls, one at a time and 16 at once, and a long list, on one embedded server.",
        (
            Picture(
                "requests",
                "Small calls: a ConfigMap",
                (
                    Figure("small", "gets_1", "gets a second, one at a time", MORE),
                    Figure("small", "gets_16", "gets a second, 16 at once", MORE),
                    Figure("small", "creates_1", "creates a second, one at a time", MORE),
                    Figure("small", "creates_16", "creates a second, 16 at once", MORE),
                ),
            ),
            Picture(
                "requests-cpu",
                "The client's CPU for a small call",
                (
                    Figure("small", "get_1_cpu_us", "CPU µs a get, one at a time"),
                    Figure("small", "get_16_cpu_us", "CPU µs a get, 16 at once"),
                ),
            ),
            Picture(
                "requests-list",
                "A long list of pods, all of it kept",
                (
                    Figure("list", "cpu_us", "CPU µs per pod"),
                    Figure("list", "held_bytes", "bytes held per pod"),
                ),
                rows=("*_list",),
            ),
        ),
    ),
    Benchmark(
        "sync",
        "An informer from its start until it is synced, on one embedded server.",
        (
            Picture(
                "sync",
                "Informers: from start to synced",
                (
                    Figure("sync", "cpu_us", "CPU µs per pod"),
                    Figure("sync", "held_bytes", "bytes held per pod"),
                ),
            ),
        ),
        full_options=("--repeat", "3"),
    ),
    Benchmark(
        "watch",
        "Updates through store, index and handler, from a server that is never the bottleneck.",
        (
            Picture(
                "watch",
                "Informers: updates",
                (
                    Figure("watch", "rate", "updates a second", MORE),
                    Figure("watch", "cpu_us", "CPU µs an update"),
                ),
            ),
        ),
        full_options=("--repeat", "3"),
    ),
    Benchmark(
        "lookup",
        "Reads from an informer's store.",
        (
            Picture(
                "lookup",
                "Reads from the store",
                (Figure("lookup", "lazy", "µs, lazy"), Figure("lookup", "compact", "µs, compact")),
                rows=("get", "again", "lister", "index_*"),
            ),
        ),
    ),
    Benchmark(
        "scaling",
        "What one object costs an informer, however many there are.",
        (
            Picture(
                "scaling",
                "Informers: the cost of an object by their number",
                (
                    Figure("lazy", "cpu_us", "CPU µs each, lazy"),
                    Figure("lazy", "held_bytes", "bytes held each, lazy"),
                    Figure("compact", "cpu_us", "CPU µs each, compact"),
                    Figure("compact", "held_bytes", "bytes held each, compact"),
                ),
                subtitle="From start to synced, from a server that is never the bottleneck",
            ),
        ),
        full_options=("--max", "100000"),
    ),
    Benchmark(
        "stall",
        "How long a step of an informer holds the event loop at most.",
        (
            Picture(
                "stall",
                "The longest pause of the event loop",
                (
                    Figure("stall_*", "pause_ms", "longest pause, ms"),
                    Figure("stall_*", "cpu_ms", "CPU of it, ms"),
                ),
            ),
        ),
        full_options=("--objects", "20000"),
    ),
    Benchmark(
        "controllers",
        "Operators of many custom resources from start until nothing is left to do, beside kopf; and the work queue.",
        (
            Picture(
                "controllers",
                "Operators: from start to quiet, then one change at a time",
                (
                    Figure("start", "cpu", "CPU ms an object"),
                    Figure("start", "grown", "MB grown"),
                    Figure("start", "p99", "change to handler, p99 ms"),
                ),
            ),
            Picture("queue", "Work queue: add, get and done", (Figure("queue", "us", "CPU µs a key"),)),
        ),
    ),
    Benchmark(
        "sharding",
        "What each of several replicas takes that share the objects.",
        (
            Picture(
                "sharding",
                "Replicas that share many objects: the largest one",
                (
                    Figure("replicas", "cpu_s", "CPU s"),
                    Figure("replicas", "held_mb", "MB held"),
                    Figure("replicas", "received", "objects received"),
                ),
            ),
        ),
    ),
    Benchmark(
        "streams",
        "Commands in pods, bytes through a forwarded port, the merged logs of many pods, and copies of files.",
        (
            Picture(
                "exec",
                "exec of a small command",
                (Figure("exec", "p50", "median ms"), Figure("exec", "p99", "p99 ms")),
            ),
            Picture(
                "port-forward",
                "Port-forward: one connection",
                (
                    Figure("port_forward", "down", "MB a second, from the pod", MORE),
                    Figure("port_forward", "up", "MB a second, to the pod", MORE),
                ),
            ),
            Picture(
                "logs",
                "Logs of many pods, followed",
                (
                    Figure("logs_followed", "rate", "lines a second", MORE),
                    Figure("logs_followed", "cpu", "CPU µs per line"),
                    Figure("logs_followed", "peak", "MB at most"),
                ),
            ),
            Picture(
                "cp",
                "Copying a file to and from a pod",
                (
                    Figure("cp", "up", "MB a second, to the pod", MORE),
                    Figure("cp", "down", "MB a second, from the pod", MORE),
                    Figure("cp", "peak", "MB at most"),
                ),
            ),
        ),
    ),
    Benchmark(
        "server",
        "The embedded server beside kube-apiserver and etcd, on the same cores.",
        (
            Picture(
                "server",
                "The embedded server under load",
                (
                    Figure("load", "creates", "creates a second", MORE),
                    Figure("load", "updates", "updates a second", MORE),
                    Figure("load", "gets", "gets a second", MORE),
                    Figure("watch", "events", "events a second to all watchers", MORE),
                ),
            ),
            Picture(
                "server-start",
                "The embedded server: from nothing to the first response",
                (Figure("start", "ms", "wall ms"),),
            ),
        ),
    ),
    Benchmark(
        "server_apply",
        "Server-side apply of deployments, beside kube-apiserver and etcd.",
        (
            Picture(
                "server-apply",
                "Server-side apply of deployments",
                (
                    Figure("create", "rate", "created, a second", MORE),
                    Figure("unchanged", "rate", "unchanged, a second", MORE),
                    Figure("second", "rate", "second manager, a second", MORE),
                ),
            ),
        ),
        module="server",
        options=("--apply",),
    ),
    Benchmark(
        "schemas",
        "What the embedded server does with a custom resource of about fifty values.",
        (Picture("schemas", "Schemas of custom resources", (Figure("schemas", "us", "CPU µs"),)),),
    ),
    Benchmark(
        "rules",
        "Validation rules (CEL) of custom resources.",
        (
            Picture(
                "rules",
                "Validation rules of custom resources",
                (Figure("rules", "us", "CPU µs an object"),),
                rows=("[!c]*",),
            ),
        ),
    ),
)
"""In the order in which they are run and shown."""
