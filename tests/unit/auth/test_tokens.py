"""Tokens and passwords, from the configuration and from files."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._auth.tokens import AnonymousCredentials, BasicAuth, BearerToken, TokenFile, bearer
from masthead._meta.secret import Secret
from masthead.errors import AuthError

if TYPE_CHECKING:
    from pathlib import Path


class Clock:
    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


def rename(path: Path, text: str) -> None:
    """Replace a file in one step, as careful writers do."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def project(folder: Path, version: str, text: str) -> Path:
    """Replace a file as the kubelet does: a symlink to a folder of symlinked content, swapped in one step."""
    (folder / version).mkdir()
    (folder / version / "token").write_text(text)
    swap = folder / "..data_tmp"
    swap.symlink_to(version)
    swap.replace(folder / "..data")
    path = folder / "token"
    if not path.is_symlink():
        path.symlink_to("..data/token")
    return path


async def test_anonymous_credentials_send_no_header() -> None:
    anonymous = AnonymousCredentials()

    assert (await anonymous.authorization()).reveal() == ""
    assert await anonymous.certificate() is None
    assert not await anonymous.renew(Secret(""))


async def test_a_token_is_sent_as_it_is_and_cannot_be_renewed() -> None:
    token = BearerToken(Secret("abc\n"))

    assert (await token.authorization()).reveal() == "Bearer abc"
    assert not await token.renew(Secret("Bearer abc"))


async def test_name_and_password_are_encoded_as_utf_8() -> None:
    basic = BasicAuth("jürgen", Secret("pass:wörd"))

    sent = await basic.authorization()

    assert base64.b64decode(sent.reveal().removeprefix("Basic ")).decode() == "jürgen:pass:wörd"
    assert not await basic.renew(sent)


def test_a_name_with_a_colon_is_refused() -> None:
    with pytest.raises(AuthError, match="must not contain a colon"):
        BasicAuth("a:b", Secret("c"))


@given(st.text())
def test_a_token_cannot_inject_a_header(text: str) -> None:
    try:
        shown = bearer(Secret(text), "here").reveal()
    except AuthError as error:
        shown = str(error)
        assert len(text.strip()) < 12 or text not in shown

    assert shown.isascii()
    assert shown.isprintable()


async def test_a_file_is_read_again_when_it_was_renamed_into_place(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", Clock()
    path.write_text("old\n")
    token = TokenFile(path, fallback=Secret(), now=clock)
    assert (await token.authorization()).reveal() == "Bearer old"
    rename(path, "new")

    clock.at += 9
    assert (await token.authorization()).reveal() == "Bearer old"
    clock.at += 2
    assert (await token.authorization()).reveal() == "Bearer new"


async def test_a_file_is_read_again_when_the_kubelet_swaps_its_folder(tmp_path: Path) -> None:
    path, clock = project(tmp_path, "..2026_01", "old"), Clock()
    token = TokenFile(path, fallback=Secret(), now=clock)
    assert (await token.authorization()).reveal() == "Bearer old"
    project(tmp_path, "..2026_02", "new")

    clock.at += 11
    assert (await token.authorization()).reveal() == "Bearer new"


async def test_a_change_without_a_new_stat_is_detected_within_a_minute(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", Clock()
    path.write_text("old")
    token = TokenFile(path, fallback=Secret(), now=clock)
    assert (await token.authorization()).reveal() == "Bearer old"
    path.write_text("new")
    seen = vars(vars(token)["_file"])
    found = path.stat()
    seen["_seen"] = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    clock.at += 50
    assert (await token.authorization()).reveal() == "Bearer old"
    clock.at += 10
    assert (await token.authorization()).reveal() == "Bearer new"


async def test_a_refused_token_is_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("old")
    token = TokenFile(path, fallback=Secret(), now=Clock())
    await token.authorization()

    assert not await token.renew(Secret("Bearer old"))
    rename(path, "new")
    assert await token.renew(Secret("Bearer old"))
    assert await token.renew(Secret("Bearer old"))
    assert (await token.authorization()).reveal() == "Bearer new"


@pytest.mark.parametrize("spoilt", ["gone", "empty", "binary", "blank inside", "folder", "pipe", "large"])
async def test_an_invalid_file_keeps_the_last_good_token_and_is_reported_once(
    tmp_path: Path, spoilt: str, caplog: pytest.LogCaptureFixture
) -> None:
    path, clock = tmp_path / "token", Clock()
    path.write_text("good22")
    token = TokenFile(path, fallback=Secret(), now=clock)
    await token.authorization()
    path.unlink()
    spoil(path, spoilt)

    for _ in range(20):
        clock.at += 11
        assert (await token.authorization()).reveal() == "Bearer good22"
    assert not await token.renew(Secret("Bearer good22"))

    assert len(caplog.records) == 1
    assert str(path) in caplog.text
    assert "good22" not in caplog.text
    assert "spoilt22" not in caplog.text


async def test_a_repaired_file_is_used_and_its_next_fault_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, clock = tmp_path / "token", Clock()
    path.write_text("one")
    token = TokenFile(path, fallback=Secret(), now=clock)
    await token.authorization()

    for text, expected in (("", "one"), ("two", "two"), ("", "two")):
        rename(path, text)
        clock.at += 11
        assert (await token.authorization()).reveal() == f"Bearer {expected}"

    assert len(caplog.records) == 2


@pytest.mark.parametrize("spoilt", ["gone", "empty", "binary", "blank inside", "folder", "pipe", "large"])
async def test_without_a_valid_token_the_error_names_the_file(tmp_path: Path, spoilt: str) -> None:
    path = tmp_path / "token"
    spoil(path, spoilt)
    token = TokenFile(path, fallback=Secret(), now=Clock())

    for _ in range(2):
        with pytest.raises(AuthError) as caught:
            await token.authorization()
        assert str(path) in str(caught.value)
        assert "spoilt22" not in f"{caught.value!r} {caught.value.__cause__!r}"

    with pytest.raises(AuthError):
        await token.renew(Secret(""))


async def test_the_fallback_serves_until_the_file_can_be_read(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", Clock()
    token = TokenFile(path, fallback=Secret("given"), now=clock)
    assert (await token.authorization()).reveal() == "Bearer given"
    path.write_text("filed")

    clock.at += 11
    assert (await token.authorization()).reveal() == "Bearer filed"


async def test_a_readable_file_takes_precedence_over_the_fallback(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("filed")

    assert (await TokenFile(path, fallback=Secret("given"), now=Clock()).authorization()).reveal() == "Bearer filed"


def test_no_repr_shows_a_secret(tmp_path: Path) -> None:
    shown = [
        BearerToken(Secret("hunter22")),
        BasicAuth("me", Secret("hunter22")),
        TokenFile(tmp_path, fallback=Secret("hunter22"), now=Clock()),
    ]

    assert "hunter22" not in repr([(each, vars(each)) for each in shown])


def spoil(path: Path, how: str) -> None:
    """Put something there that is no token."""
    match how:
        case "empty":
            path.write_text(" \n")
        case "binary":
            path.write_bytes(b"spoilt22\xff")
        case "blank inside":
            path.write_text("spoilt22 spoilt22")
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "large":
            path.write_text("spoilt22" * 200_000)
        case _:
            assert how == "gone"
