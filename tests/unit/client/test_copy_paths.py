"""Where copies go, what is run in containers, and which names and links of an archive are refused."""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._client.cp import commands
from masthead._client.cp.paths import (
    RemotePlace,
    UnsafeNameError,
    base_name,
    check_remote,
    leads_out,
    member_parts,
    remote_place,
)
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/etc/hosts", "hosts"),
        ("/etc/", "etc"),
        ("etc", "etc"),
        ("-etc", "-etc"),
        ("/", ""),
        ("//", ""),
        (".", ""),
        ("/etc/.", ""),
        ("/etc/..", ""),
        ("/etc/./", ""),
    ],
)
def test_a_copy_has_the_name_of_its_source_or_is_all_that_it_holds(path: str, name: str) -> None:
    assert base_name(path) == name


@pytest.mark.parametrize(
    ("target", "is_directory", "place"),
    [
        ("/srv", True, RemotePlace("/srv", "site")),
        ("/srv/", True, RemotePlace("/srv/", "site")),
        ("/srv/new", False, RemotePlace("/srv", "new")),
        ("new", False, RemotePlace(".", "new")),
        ("/new", False, RemotePlace("/", "new")),
        ("new//", False, RemotePlace(".", "new")),
    ],
)
def test_a_copy_goes_into_a_directory_or_gets_the_name_of_the_target(
    target: str, is_directory: bool, place: RemotePlace
) -> None:
    assert remote_place(target, "site", is_directory=is_directory) == place


def test_what_a_directory_holds_goes_into_the_target_itself() -> None:
    assert remote_place("/srv", "", is_directory=True).path == "/srv"


@pytest.mark.parametrize("path", ["", "a\0b", "\udcff", 3, None])
def test_a_path_that_cannot_be_sent_is_refused(path: str) -> None:
    with pytest.raises(ArgumentError):
        check_remote(path)


def test_no_name_is_taken_for_an_option_or_for_a_part_of_a_script() -> None:
    name = "-x; rm -rf / '\"$(id)\n"
    safe = f"./{name}"

    assert commands.is_directory(name) == ["test", "-d", safe]
    assert commands.read(name) == ["cat", safe]
    assert commands.write(name) == ["sh", "-c", 'cat > "$1" && echo done', "sh", safe]
    assert commands.write(name, size=7) == ["sh", "-c", 'head -c "$2" > "$1" && echo done', "sh", safe, "7"]
    assert commands.probe(name)[3:] == ["sh", safe, "./-x; rm -rf "]
    assert commands.probe("-d", name)[3:] == ["sh", "./-d", ".", f"./-d/{name}"]
    assert commands.pack_directory(name) == ["tar", "-cf", "-", "-C", safe, "."]
    assert commands.pack_file(".", name) == ["tar", "-chf", "-", "-C", ".", safe]
    tar = 'tar -xpof - -C "$1" && echo done'
    assert commands.unpack(name, preserve=True) == ["sh", "-c", tar, "sh", safe]
    assert commands.unpack(name, preserve=True, size=7) == [
        "sh",
        "-c",
        f'head -c "$2" | {tar}',
        "sh",
        safe,
        "7",
    ]


def test_a_name_that_no_command_can_have_is_not_looked_at() -> None:
    assert commands.probe("/srv", "\udcff")[3:] == ["sh", "/srv", "/"]


@pytest.mark.parametrize("name", [b"/etc/passwd", b"../x", b"a/../../x", b"a/..", b"//x", b".."])
def test_names_that_lead_out_are_refused(name: bytes) -> None:
    with pytest.raises(UnsafeNameError):
        member_parts(name)


@pytest.mark.parametrize(
    ("name", "parts"),
    [(b"./a/b", (b"a", b"b")), (b"a//b/.", (b"a", b"b")), (b".", ()), (b"..a/b..", (b"..a", b"b.."))],
)
def test_names_within_the_copy_are_split(name: bytes, parts: tuple[bytes, ...]) -> None:
    assert member_parts(name) == parts


@pytest.mark.parametrize(
    ("link", "depth", "is_out"),
    [
        (b"x", 0, False),
        (b"./x/y", 0, False),
        (b"../x", 1, False),
        (b"../x", 0, True),
        (b"../../x", 1, True),
        (b"/x", 5, True),
        (b"x/../y", 5, True),
        (b"", 0, True),
        (b"..", 1, False),
    ],
)
def test_links_may_lead_only_where_the_copy_is(link: bytes, depth: int, is_out: bool) -> None:
    assert leads_out(link, depth) is is_out


PARTS = st.sampled_from(["a", "b", "c", "..", ".", "l", "m"])


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(["a", "b"]), max_size=2), st.sampled_from("lm"), st.lists(PARTS)),
        max_size=6,
    )
)
def test_links_that_are_allowed_stay_inside_through_any_number_of_them(
    tmp_path_factory: pytest.TempPathFactory, links: list[tuple[list[str], str, list[str]]]
) -> None:
    root = tmp_path_factory.mktemp("root") / "outer" / "root"
    root.mkdir(parents=True)
    made: list[Path] = []
    for directory, name, target in links:
        link = root.joinpath(*directory, name)
        link.parent.mkdir(parents=True, exist_ok=True)
        text = posixpath.join(*target) if target else ""
        if not leads_out(text.encode(), len(directory)) and not link.is_symlink():
            link.symlink_to(text)
            made.append(link)

    for link in made:
        resolved = os.path.realpath(link)  # follows as far as there is something
        assert resolved == str(root) or resolved.startswith(f"{root}/")
