"""What ``masthead run`` imports, and what it says if there is no manager."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._cli.targets import (
    BrokenTargetError,
    TargetError,
    load_manager,
    load_workload_attribute,
    parse_target,
    source_folders,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MANAGER = "import masthead\napp = masthead.Manager('website')\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in, whose modules are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        # Modules of others stay: they were imported by chance here.
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def write(path: str, text: str) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def name_of(target: str) -> str:
    return load_manager(parse_target(target)).name


@pytest.mark.parametrize("target", ["site_app", "site_app:app", "site_app.py", "./site_app.py:app"])
def test_a_module_or_a_file_is_imported(target: str) -> None:
    write("site_app.py", MANAGER)
    assert name_of(target) == "website"


def test_an_absolute_path_is_imported(tmp_path: Path) -> None:
    file = write("elsewhere/far_app.py", "import far_helper\n" + MANAGER)
    write("elsewhere/far_helper.py", "")
    assert name_of(str(tmp_path / file)) == "website"


@pytest.mark.parametrize("target", ["shop_pkg.deep.main", "shop_pkg/deep/main.py", "shop_pkg/deep/main.py:app"])
def test_a_module_of_a_package_may_import_relatively(target: str) -> None:
    write("shop_pkg/__init__.py", "")
    write("shop_pkg/names.py", "NAME = 'website'")
    write("shop_pkg/deep/__init__.py", "")
    write("shop_pkg/deep/main.py", "import masthead\nfrom ..names import NAME\napp = masthead.Manager(NAME)")
    assert name_of(target) == "website"
    assert "shop_pkg.deep.main" in sys.modules


def test_a_package_is_imported() -> None:
    write("whole_pkg/__init__.py", MANAGER)
    assert name_of("whole_pkg") == "website"
    assert name_of("whole_pkg/__init__.py") == "website"


@pytest.mark.parametrize("name", ["operator", "queue", "json"])
def test_a_file_may_have_the_name_of_a_standard_module(name: str) -> None:
    write(f"{name}.py", MANAGER)
    assert name_of(f"{name}.py") == "website"
    assert "masthead" not in vars(sys.modules[name])


def test_the_only_manager_needs_no_name() -> None:
    write("only_app.py", "import masthead\nwebsites = also = masthead.Manager('website')\nother = 1\n")
    assert name_of("only_app") == "website"
    assert name_of("only_app:websites") == "website"


def test_app_is_the_default_of_several() -> None:
    write("several_app.py", f"{MANAGER}other = masthead.Manager('other')\n")
    assert name_of("several_app") == "website"
    assert name_of("several_app:other") == "other"


def test_a_manager_may_be_an_attribute_of_something() -> None:
    write("nested_app.py", "import masthead\nclass Settings:\n    manager = masthead.Manager('website')\n")
    assert name_of("nested_app:Settings.manager") == "website"


@pytest.mark.parametrize("file", ["src/hidden_app/main.py", "src/hidden_app.py"])
def test_a_module_in_src_is_hinted_at(file: str) -> None:
    write(file, MANAGER)
    with pytest.raises(TargetError, match="it is in src: install the project, or set PYTHONPATH=src"):
        name_of("hidden_app.main")


def test_a_file_that_is_not_python_is_refused() -> None:
    file = write("notes.txt", "")
    with pytest.raises(TargetError, match=r"notes\.txt is not a Python file$"):
        name_of(f"./{file}")


@pytest.mark.parametrize(
    ("target", "source", "message"),
    [
        ("no_such_module", "", "there is no module 'no_such_module' in "),
        ("bad_app.inner", "", "there is no module 'bad_app.inner'"),
        ("no_such_file.py", "", "there is no file no_such_file.py"),
        (".", "", "is not a module or a file"),
        ("./", "", "is a folder"),
        ("with space", "", "is not a module or a file; write package.module:app or app.py"),
        ("", "", "is not a module or a file"),
        ("bad_app:missing", MANAGER, "bad_app has no attribute 'missing'; write :app"),
        ("bad_app:a.b", "class a: pass", "bad_app has no attribute 'a.b'; there is no Manager in it"),
        ("bad_app:it", f"{MANAGER}it = 7", "bad_app:it is not a Manager but a int; write :app"),
        ("bad_app", "x = 1", "bad_app has no manager; write `app = masthead.Manager()` there"),
        (
            "bad_app",
            "import masthead\none, two = masthead.Manager(), masthead.Manager()",
            "bad_app has several managers; write :one or :two",
        ),
    ],
)
def test_what_cannot_be_found_is_named_in_one_line(target: str, source: str, message: str) -> None:
    write("bad_app.py", source)
    with pytest.raises(TargetError) as raised:
        name_of(target)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def f(:", "SyntaxError: invalid syntax"),
        ("import no_such_dependency", "ModuleNotFoundError: No module named 'no_such_dependency'"),
        ("import sys; sys.exit(3)", "exits when it is imported"),
        ("raise BaseException('odd')", "BaseException: odd"),
    ],
)
@pytest.mark.parametrize("target", ["raising_app", "raising_app.py"])
def test_a_module_that_raises_is_shown_with_its_own_frames(target: str, source: str, message: str) -> None:
    write("raising_app.py", source)
    with pytest.raises(BrokenTargetError, match=message.replace("(", "")) as raised:
        name_of(target)
    cause = raised.value.__cause__
    assert cause is not None
    shown = traceback.format_exception(cause)
    assert "raising_app.py" in shown[-2 if "SyntaxError" not in message else 0]
    assert not [line for line in shown if "importlib" in line or "targets.py" in line]


def test_an_interrupt_is_not_an_error_of_the_module() -> None:
    write("interrupted_app.py", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        name_of("interrupted_app")


def test_the_folders_of_a_program_are_where_it_is_imported_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path.resolve()
    write("project/inside_app.py", "")
    write("library/installed_pkg/__init__.py", "")
    write("library/installed_module.py", "")
    monkeypatch.chdir("project")
    sys.path[:0] = [str(root / "project"), str(root / "library")]
    assert source_folders(parse_target("inside_app")) == [root / "project"]
    assert source_folders(parse_target("inside_app.py")) == [root / "project"]
    assert source_folders(parse_target("no_such_thing")) == [root / "project"]
    assert source_folders(parse_target("installed_pkg.sub")) == [
        root / "project",
        root / "library" / "installed_pkg",
    ]
    assert source_folders(parse_target("installed_module")) == [root / "project", root / "library"]


@given(st.text())
def test_any_text_is_a_target_or_an_error(text: str) -> None:
    try:
        found = parse_target(text.replace("\0", ""))
    except TargetError:
        return
    assert found.module


@pytest.mark.skipif(os.sep != "\\", reason="a path of Windows")
def test_the_colon_of_a_drive_belongs_to_the_file() -> None:
    file = write("drive_app.py", MANAGER).resolve()
    assert parse_target(str(file)).file == file


@pytest.mark.parametrize(
    ("text", "hint"), [("async def grow(env): ...\n", "; write :grow"), ("steps = []\n", "")], ids=["one", "none"]
)
def test_a_missing_workload_is_no_missing_manager(tmp_path: Path, text: str, hint: str) -> None:
    path = tmp_path / f"workload_{len(text)}.py"
    path.write_text(text, "utf-8")
    with pytest.raises(TargetError) as caught:
        load_workload_attribute(parse_target(f"{path}:nope"))
    assert str(caught.value) == f"{path} has no attribute 'nope'{hint}"
