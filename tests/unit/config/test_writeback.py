"""Renewed tokens, back to the file that they came from."""

from __future__ import annotations

import errno
import os
import stat
import threading
from typing import TYPE_CHECKING

import pytest
from tests.unit.config.samples import Plain, plain, written

from masthead._meta import yaml
from masthead._meta.secret import Secret
from masthead.config import load, write_user_tokens
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = {
    "idp-issuer-url": "https://issuer",
    "client-id": "me",
    "id-token": "old",
    "refresh-token": "older",
}


def with_oidc() -> Plain:
    return plain(user={"auth-provider": {"name": "oidc", "config": dict(SETTINGS)}})


def settings_in(path: Path) -> Plain:
    data: Plain = yaml.load_one(path.read_bytes())  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    settings: Plain = data["users"][0]["user"]["auth-provider"]["config"]
    return settings


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def unexpected(seconds: float) -> None:
    raise AssertionError(f"nothing was to wait for, let alone {seconds} s")


def test_tokens_are_written_and_everything_else_stays(tmp_path: Path) -> None:
    data: Plain = with_oidc() | {"future": {"a": [1, "2", True, None]}}
    data["users"].append({"name": "other", "user": {"token": "0123"}})
    path = written(tmp_path / "config", data)

    write_user_tokens(path, "dev", id_token=Secret("new"), refresh_token="newer", pause=unexpected)

    data["users"][0]["user"]["auth-provider"]["config"] |= {"id-token": "new", "refresh-token": "newer"}
    assert yaml.load_one(path.read_bytes()) == data
    oidc = load(path, environ={}).oidc
    assert oidc is not None
    assert (oidc.id_token, oidc.refresh_token) == (Secret("new"), Secret("newer"))


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_the_mode_is_kept_and_nothing_else_is_left(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path / "config", with_oidc())
    path.chmod(mode)

    write_user_tokens(path, "dev", id_token="new", refresh_token="newer")

    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert names_in(tmp_path) == ["config"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_is_kept(tmp_path: Path) -> None:
    path = written(tmp_path / "config", with_oidc())
    os.chown(path, 4711, 4712)

    write_user_tokens(path, "dev", id_token="new", refresh_token="newer")

    assert (path.stat().st_uid, path.stat().st_gid) == (4711, 4712)


def test_a_file_that_cannot_be_given_away_is_written_to_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "not permitted")

    path = written(tmp_path / "config", with_oidc())
    path.write_text(path.read_text() + "#" * 10_000)
    path.chmod(0o640)
    before = path.stat()
    monkeypatch.setattr(os, "fchmod", refuse)

    write_user_tokens(path, "dev", id_token="new", refresh_token="newer")

    assert path.stat().st_ino == before.st_ino
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    oidc = load(path, environ={}).oidc
    assert oidc is not None
    assert oidc.id_token == Secret("new")
    assert names_in(tmp_path) == ["config"]


def test_an_empty_token_leaves_the_old_one(tmp_path: Path) -> None:
    path = written(tmp_path / "config", with_oidc())

    write_user_tokens(path, "dev", id_token="new", refresh_token="")

    assert settings_in(path) == SETTINGS | {"id-token": "new"}


def test_of_a_link_the_file_behind_it_is_replaced(tmp_path: Path) -> None:
    path = written(tmp_path / "real" / "config", with_oidc())
    link = tmp_path / "link"
    link.symlink_to(path)

    write_user_tokens(link, "dev", id_token="new", refresh_token="newer")

    assert link.is_symlink()
    assert settings_in(path)["id-token"] == "new"


def test_a_lock_that_goes_away_is_waited_for(tmp_path: Path) -> None:
    path = written(tmp_path / "config", with_oidc())
    lock = tmp_path / "config.lock"
    lock.touch()
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            lock.unlink()

    write_user_tokens(path, "dev", id_token="new", refresh_token="newer", pause=pause)

    assert settings_in(path)["id-token"] == "new"
    assert (len(pauses), lock.exists()) == (3, False)


def test_a_lock_that_stays_is_an_error_after_a_second_and_is_left_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "config", with_oidc())
    before = path.read_bytes()
    lock = tmp_path / "config.lock"
    lock.touch()
    pauses: list[float] = []

    with pytest.raises(ConfigError, match=f"is locked.*remove {lock}"):
        write_user_tokens(path, "dev", id_token="new", refresh_token="newer", pause=pauses.append)

    assert sum(pauses) < 1
    assert lock.exists()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (plain() | {"users": None}, "there is no user 'dev' any more"),
        (plain() | {"users": [{"name": "other"}]}, "there is no user 'dev' any more"),
        (plain(), "has no auth-provider named oidc any more"),
        (plain(user={"auth-provider": {"name": "gcp"}}), "has no auth-provider named oidc any more"),
        ({"users": 5}, "users: must be a list, and is a number"),
    ],
)
def test_a_file_that_has_changed_too_much_is_left_alone(tmp_path: Path, data: Plain, said: str) -> None:
    path = written(tmp_path / "config", data)
    before = path.read_bytes()

    with pytest.raises(ConfigError, match=said):
        write_user_tokens(path, "dev", id_token="new", refresh_token="newer")

    assert path.read_bytes() == before
    assert names_in(tmp_path) == ["config"]


def test_a_file_or_folder_that_is_gone_is_a_config_error(tmp_path: Path) -> None:
    for path in (tmp_path / "config", tmp_path / "gone" / "config"):
        with pytest.raises(ConfigError, match="the new tokens cannot be written: No such file"):
            write_user_tokens(path, "dev", id_token="new", refresh_token="newer")

    assert names_in(tmp_path) == []


def test_writers_take_turns(tmp_path: Path) -> None:
    data = with_oidc()
    names = [f"user-{number}" for number in range(6)]
    data["users"] = [
        {"name": name, "user": {"auth-provider": {"name": "oidc", "config": dict(SETTINGS)}}} for name in names
    ]
    path = written(tmp_path / "config", data)
    finished = threading.Semaphore(0)

    def write(name: str) -> None:
        # A blocked writer waits for the other one to finish, not for a number of seconds.
        write_user_tokens(path, name, id_token=name, refresh_token="r", pause=lambda _: finished.acquire())
        finished.release()

    threads = [threading.Thread(target=write, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    written_data: Plain = yaml.load_one(path.read_bytes())  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    tokens = [user["user"]["auth-provider"]["config"]["id-token"] for user in written_data["users"]]
    assert tokens == names


def test_an_invalid_token_is_rejected_and_not_shown(tmp_path: Path) -> None:
    path = written(tmp_path / "config", with_oidc())
    before = path.read_bytes()

    with pytest.raises(ConfigError, match="a token has non-ASCII characters") as caught:
        write_user_tokens(path, "dev", id_token="s3kr1t\ud800", refresh_token="newer")

    assert "s3kr1t" not in str(caught.value)
    assert path.read_bytes() == before
    assert names_in(tmp_path) == ["config"]
