"""The modules that an import loads, in a fresh interpreter."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = (
    "httptools",
    "http",
    "ssl",
    "yaml",
    "msgspec",
    "asyncio",
    "masthead.api",
    "masthead.meta",
    "urllib",
)


def modules_after(statement: str) -> set[str]:
    script = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    names: list[str] = json.loads(done.stdout)
    return set(names)


def heavy(names: set[str]) -> set[str]:
    return {name for name in names for prefix in HEAVY if name == prefix or name.startswith(f"{prefix}.")}


def test_importing_masthead_loads_no_http_yaml_ssl_or_model_module() -> None:
    assert heavy(modules_after("import masthead") - modules_after("pass")) == set()


def test_a_client_that_reads_no_file_loads_no_yaml() -> None:
    loaded = modules_after(
        "import masthead\nmasthead.Client(masthead.Config(server='http://127.0.0.1:1')).core_v1.pods('default')"
    )

    assert {name for name in loaded if name.partition(".")[0] == "yaml"} == set()
    assert "masthead._client.client" in loaded


def test_importing_types_loads_no_http_yaml_or_ssl_module() -> None:
    found = heavy(modules_after("import masthead.api.core.v1") - modules_after("pass"))

    assert {name for name in found if not name.startswith(("masthead", "msgspec"))} == set()
    assert {name for name in found if name.startswith("masthead.api.")} == {
        "masthead.api.core",
        "masthead.api.core.v1",
    }


def test_pydantic_is_imported_by_programs_that_use_it_only() -> None:
    used = "from masthead.api.core.v1 import Pod\nfrom masthead.meta import json_default\njson_default(Pod.new('web'))"
    loaded = modules_after(f"import masthead\nmasthead.Client\n{used}")

    assert {name for name in loaded if name.partition(".")[0] in {"pydantic", "pydantic_core"}} == set()
    assert "masthead._pydantic" not in loaded


def test_without_pydantic_all_attributes_of_an_object_can_be_read() -> None:
    script = (
        "import inspect, sys\n"
        "sys.modules['pydantic_core'] = None\n"
        "from masthead.api.core.v1 import Pod\n"
        "assert dict(inspect.getmembers(Pod.new('web')))['key'] == 'web'\n"
        "assert not hasattr(Pod.new('web'), '__pydantic_serializer__')"
    )

    assert "inspect" in modules_after(script)


def test_looking_up_a_kind_imports_one_module_of_types() -> None:
    script = (
        "from masthead._meta.registry import registry\n"
        "from masthead._meta.gvk import GroupVersionKind, GroupVersionResource\n"
        "assert registry.kind_of(GroupVersionResource('', 'v1', 'nodes')).kind == 'Node'\n"
        "assert not [name for name in sys.modules if name.startswith('masthead.api.') and name.endswith('v1')]\n"
        "registry.class_of(GroupVersionKind('coordination.k8s.io', 'v1', 'Lease'))"
    )

    types = {name for name in modules_after(script) if name.startswith("masthead.api.") and name[-1].isdigit()}
    assert types == {"masthead.api.coordination.v1"}


def test_the_pytest_plugin_loads_nothing_heavy_before_a_fixture_is_used() -> None:
    found = heavy(modules_after("import masthead.testing.plugin") - modules_after("import pytest"))

    assert found == set()


def test_importing_the_server_package_loads_no_http_or_model_module() -> None:
    assert heavy(modules_after("import masthead.server") - modules_after("pass")) == set()


def test_clients_and_informers_load_no_server() -> None:
    script = (
        "import masthead, masthead.aio\n"
        "masthead.Client, masthead.aio.Client, masthead.SharedInformerFactory, masthead.aio.SharedInformerFactory\n"
        "client = masthead.Client(masthead.Config(server='http://127.0.0.1:1'), attempts=1, timeout=5)\n"
        "masthead.SharedInformerFactory(client).core_v1.pods.informer\n"
        "try:\n    client.core_v1.pods('default').list()\n"
        "except masthead.MastheadError:\n    pass\n"
        "client.close()"
    )
    found = modules_after(script)

    assert "masthead._transport.http" in found
    assert not any(name.startswith(("masthead.server", "masthead_server")) for name in found)
