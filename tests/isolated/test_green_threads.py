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
    "a blocking client": "client.rest.get('/version')",
    "a server in this process": "masthead.server.run(bootstrap=False).__enter__()",
}
LATE_USES = [
    "client.core_v1.pods().list()",
    "next(client.core_v1.pods().watch())",
    "informer.start()",
    "informer.__enter__()",
    "informer.run()",
    "factory.start()",
]
CLIENT = """
import masthead, masthead.server
client = masthead.Client(masthead.Config(server='http://127.0.0.1:9'), attempts=1)
informer = masthead.SharedInformer(client.core_v1.pods())
factory = masthead.SharedInformerFactory(client)
factory.core_v1.pods.informer
"""


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("patch", PATCHES)
def test_green_threads_are_refused_at_once_with_what_to_do(patch: str, use: str) -> None:
    library = patch.removeprefix("like ").removesuffix(" without threads")
    if not patch.startswith("like ") and importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    program = f"""
{PATCHES[patch]}
{CLIENT}
try:
    {USES[use]}
except masthead.errors.ConfigError as error:
    print(error)
"""

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.startswith(f"{use} has an event loop in a thread of its own, and {library} has replaced")
    assert "masthead.aio" in done.stdout


def test_a_client_that_was_used_before_threads_were_replaced_is_refused_from_then_on() -> None:
    # Not by gevent itself: locks that it replaces while a thread holds them may never be released.
    program = f"""
{CLIENT}
try:
    client.rest.get('/version')
except masthead.errors.ConnectError:
    print('sent')
{PATCHES["like gevent"]}
for use in {LATE_USES}:
    try:
        eval(use)
    except masthead.errors.ConfigError as error:
        assert 'gevent has replaced' in str(error)
        print(use)
client.close()
"""

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.splitlines() == ["sent", *LATE_USES]


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
