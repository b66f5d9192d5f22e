"""Runs a statement in a fresh interpreter and prints what it cost, as JSON.

It is run as a file, not as a module, and imports next to nothing: anything that it imported, the statement would
find loaded already.

    probe.py SETUP STATEMENT
"""

import sys
import time


def main() -> None:
    """Run the setup, measure the statement, and print what it took."""
    setup, statement = (compile(source, "<measured>", "exec") for source in sys.argv[1:])
    scope: dict[str, object] = {}
    exec(setup, scope)
    before = set(sys.modules)
    wall, cpu = time.perf_counter(), time.process_time()
    exec(statement, scope)
    cpu_end, wall_end = time.process_time(), time.perf_counter()
    modules, peak = set(sys.modules), _peak()
    import json

    figures = {
        "cpu_ms": (cpu_end - cpu) * 1e3,
        "wall_ms": (wall_end - wall) * 1e3,
        "process_cpu_ms": cpu_end * 1e3,
        "modules": len(modules),
        "peak_rss_mb": peak,
    }
    print(json.dumps({"figures": figures, "loaded": sorted(modules - before)}))


def _peak() -> float | None:
    """The most memory that the process has had, in megabytes, where the system reports it."""
    try:
        with open("/proc/self/status", encoding="ascii") as file:  # noqa: PTH123 - pathlib would be an import
            [line] = (line for line in file if line.startswith("VmHWM:"))
    except FileNotFoundError:
        return None
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
