"""`ClusterMixin` with clients other than ours: test cases as their users write them, run as a program of their own."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pathlib import Path

BLOCKING: Final = """
import unittest

import masthead.testing
from kubernetes import client, config


class Tests(masthead.testing.ClusterMixin, unittest.TestCase):
    def setUp(self):
        super().setUp()
        config.load_kube_config()

    def test_one(self):
        client.CoreV1Api().create_namespace({"metadata": {"name": "shop"}})

    def test_other(self):
        names = [item.metadata.name for item in client.CoreV1Api().list_namespace().items]
        self.assertNotIn("shop", names)
"""

ASYNC: Final = """
import unittest

import masthead.testing
from kubernetes_asyncio import client, config


class Tests(masthead.testing.ClusterMixin, unittest.IsolatedAsyncioTestCase):
    async def test_one(self):
        await config.load_kube_config()
        async with client.ApiClient() as connection:
            namespace = await client.CoreV1Api(connection).read_namespace("default")
            self.assertEqual(namespace.status.phase, "Active")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("client", "program"), [("kubernetes", BLOCKING), ("kubernetes_asyncio", ASYNC)])
def test_each_test_case_has_a_cluster_that_the_client_finds(client: str, program: str, tmp_path: Path) -> None:
    pytest.importorskip(client, reason=f"{client} is not installed")
    (tmp_path / "test_program.py").write_text(program, "utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "unittest", "-q", "test_program"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
