"""Processes whose threads are green: gevent's and eventlet's patches last as long as the process."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

PATCHES = {
    "gevent": "from gevent import monkey; monkey.patch_all()",
    "eventlet": "import eventlet; eventlet.monkey_patch()",
    # What the two say of themselves, for machines that do not have them.
    "like gevent": (
        "import sys, types; sys.modules['gevent.monkey'] = types.ModuleType('gevent.monkey')\n"
        "sys.modules['gevent.monkey'].is_module_patched = lambda name: name == 'threading'"
    ),
    "gevent without threads": "from gevent import monkey; monkey.patch_all(thread=False)",
    "like gevent without threads": (
        "import sys, types; sys.modules['gevent.monkey'] = types.ModuleType('gevent.monkey')\n"
        "sys.modules['gevent.monkey'].is_module_patched = lambda name: name == 'select'"
    ),
    "like eventlet": (
        "import sys, types; sys.modules['eventlet.patcher'] = types.ModuleType('eventlet.patcher')\n"
        "sys.modules['eventlet.patcher'].is_monkey_patched = lambda name: name == 'thread'"
    ),
}
USES = {
    "a blocking client": "masthead.Client(masthead.Config(server='http://127.0.0.1:9')).rest.get('/version')",
    "a server in this process": "masthead.server.run(bootstrap=False).__enter__()",
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("patch", PATCHES)
def test_green_threads_are_refused_at_once_with_what_to_do(patch: str, use: str) -> None:
    library = patch.removeprefix("like ").removesuffix(" without threads")
    if not patch.startswith("like ") and importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    program = f"""
{PATCHES[patch]}
import masthead, masthead.server
try:
    {USES[use]}
except masthead.errors.ConfigError as error:
    print(error)
"""

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.startswith(f"{use} has an event loop in a thread of its own, and {library} has replaced")
    assert "masthead.aio" in done.stdout


def test_patches_of_other_modules_are_no_reason_to_refuse() -> None:
    program = """
import sys, types
sys.modules['gevent.monkey'] = types.ModuleType('gevent.monkey')
sys.modules['gevent.monkey'].is_module_patched = lambda name: name == 'time'
import masthead
try:
    masthead.Client(masthead.Config(server='http://127.0.0.1:9'), attempts=1).rest.get('/version')
except masthead.errors.ConnectError:
    print('sent')
"""

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "sent\n"
