"""Temporary files for PEM data."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from masthead._auth import pem
from masthead._auth.credentials import Certificate
from masthead._meta.secret import Secret
from masthead.errors import AuthError


def test_on_a_disk_a_key_is_for_its_owner_only_and_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)

    with pem._path_to(Secret("key")) as name:
        path = Path(name)
        assert path.read_text() == "key"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

    assert not path.parent.exists()


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="there are no files in memory here")
def test_in_memory_a_key_has_no_name_on_any_disk() -> None:
    with pem._path_to(Secret("key")) as name:
        assert Path(name).read_text() == "key"
        assert str(Path(name).readlink()).startswith("/memfd:")


def test_a_folder_that_cannot_be_written_is_an_auth_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:

    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))

    with pytest.raises(AuthError, match="could not be handed to ssl: No such file or directory"):
        pem.check_certificate(Certificate("x", Secret("y")), "here")
