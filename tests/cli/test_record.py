"""``masthead record``: every change of a cluster, in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.cli.terminal import Terminal
from tests.cli.test_processes import CTRL_C

from masthead.meta import Patch
from masthead.recording import DEFAULT_RULES, Recording

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    import masthead
    from masthead.server import Server

    Cli = Callable[..., Ran]

pytestmark = pytest.mark.slow


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "test.mhr"


def test_all_kinds_are_recorded(cli: Cli, path: Path) -> None:
    ran = cli(f"record -o {path} --for 0")
    assert ran.code == 0
    assert str(path) in ran.out
    assert "0 gaps" in ran.out
    with Recording(path) as recording:
        kinds = {kind.gvk.kind: kind for kind in recording.kinds}
        assert {"Pod", "Widget", "Namespace", "Secret"} <= kinds.keys()
        assert kinds["Widget"].short_names == ("wd",)
        assert not kinds["Namespace"].namespaced
        assert list(recording.redacted) == list(DEFAULT_RULES)
        assert recording.server_version.startswith("v1.")
        # One kind, although two groups serve it.
        assert [kind for kind in kinds if kind == "Event"] == ["Event"]


def test_named_kinds_of_a_namespace_are_recorded(cli: Cli, path: Path) -> None:
    ran = cli(f"record pods,cm wd -n shop -l app=web -o {path} --for 0 --redact configmaps:data.* --keep-secrets")
    assert (ran.code, "3 kinds" in ran.out) == (0, True)
    with Recording(path) as recording:
        assert {kind.gvk.kind for kind in recording.kinds} <= {"Pod", "ConfigMap", "Widget"}
        assert {change.namespace for change in recording.changes()} == {"shop"}
        assert list(recording.redacted) == ["configmaps:data.*"]


def test_refused_kinds_are_left_out(cli: Cli, server: Server, path: Path) -> None:
    server.faults.fail(403, resource="secrets", times=None)
    ran = cli(f"record secrets,pods -o {path} --for 0")
    assert ran.code == 0
    assert "secrets are not recorded" in ran.err
    assert "1 kind" in ran.out
    ran = cli(f"record secrets -o {path} --for 0")
    assert ran.code != 0
    assert "nothing to record" in ran.err


def test_terminal_shows_the_statistics_until_ctrl_c(
    environ: dict[str, str], client: masthead.Client, path: Path
) -> None:
    with Terminal(["record", "cm", "-n", "shop", "-o", str(path)], environ) as screen:
        screen.expect("recording 1 kind")
        client.core_v1.config_maps("shop").patch("settings", Patch.merge({"data": {"size": "1"}}))
        screen.expect(" 1 change ")
        screen.press(CTRL_C)
        assert screen.finish() == 0
        assert "recorded 1 change of 1 kind with 0 gaps" in screen.output
    with Recording(path) as recording:
        assert [change.type for change in recording.history(recording.kinds[0].gvk, "settings", "shop")] == [
            "STATE",
            "MODIFIED",
        ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--rotate-size much", "rotate-size"),
        ("--rotate-size 0", "no size"),
        ("--redact nonsense", "cannot redact"),
        ("--keep 0", "keep"),
        ("--for ever", "not a duration"),
        ("wodgets", "wodgets"),
    ],
)
def test_wrong_arguments_are_explained(cli: Cli, path: Path, options: str, message: str) -> None:
    ran = cli(f"record pods -o {path} {options}" if options != "wodgets" else f"record wodgets -o {path}")
    assert ran.code != 0
    assert message in ran.err
