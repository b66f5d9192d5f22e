"""Names of images, with the errors of the parser that kubelets use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.kubelet.image_names import problem_with_image_name

HEX = "0123456789abcdef" * 4
INVALID = "invalid reference format"


@pytest.mark.parametrize(
    "image",
    [
        "busybox",
        "busybox:1.36",
        "library/busybox:latest",
        "docker.io/busybox",
        "index.docker.io/a/b",
        "registry.k8s.io/pause:3.10",
        "localhost/a",
        "localhost:5000/a/b-c__d.e:v1",
        "[::1]:5000/a",
        "REGISTRY/a",
        f"a@sha256:{HEX}",
        f"a:1@sha256:{HEX}",
        "a:" + "t" * 128,
        "registry.example.com/" + "a" * 255,
    ],
)
def test_valid_names_have_no_problem(image: str) -> None:
    assert problem_with_image_name(image) == ""


@pytest.mark.parametrize(
    ("image", "problem"),
    [
        ("", INVALID),
        ("a b", INVALID),
        ("a:", INVALID),
        ("a:b c", INVALID),
        ("a:1:2", INVALID),
        ("a:" + "t" * 129, INVALID),
        ("-a", INVALID),
        ("a..b", INVALID),
        ("a/", INVALID),
        ("/a", INVALID),
        ("a@sha256:12", INVALID),
        ("https://registry/a", INVALID),
        ("UPPER:bad tag", f"{INVALID}: repository name (library/UPPER) must be lowercase"),
        ("Shop/Api", f"{INVALID}: repository name (Api) must be lowercase"),
        ("shop/Api:1", f"{INVALID}: repository name (shop/Api) must be lowercase"),
        (HEX, f"invalid repository name ({HEX}), cannot specify 64-byte hexadecimal strings"),
        ("registry.example.com/" + "a" * 256, "repository name must not be more than 255 characters"),
        (f"a@md5:{HEX}", "unsupported digest algorithm"),
        (f"a@sha512:{HEX}", "invalid checksum digest length"),
        (f"a@sha256:{HEX.upper()}", "invalid checksum digest format"),
    ],
)
def test_other_names_have_the_problem_that_a_kubelet_reports(image: str, problem: str) -> None:
    assert problem_with_image_name(image) == problem


@given(st.text())
def test_no_name_is_an_error(image: str) -> None:
    assert isinstance(problem_with_image_name(image), str)
