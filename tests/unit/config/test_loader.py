"""The sources of a configuration, their precedence, overrides, and errors."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import pytest
from tests.unit.config.samples import SERVER, packed, plain, several, single, written

from masthead._config.files import MAX_SIZE
from masthead._meta.secret import Secret
from masthead.config import Impersonation, KubeContext, from_kubeconfig, list_contexts, load
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

IN_POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """A pod's service account."""
    root = tmp_path / "serviceaccount"
    root.mkdir()
    for name, text in {"token": "t", "ca.crt": "x", "namespace": "web\n"}.items():
        (root / name).write_text(text)
    return root


def refused(path: Path | None = None, **arguments: object) -> str:
    with pytest.raises(ConfigError) as caught:
        load(path, **{"environ": {}, **arguments})  # type: ignore[arg-type]
    return str(caught.value)


def test_a_given_file_is_used_alone(tmp_path: Path) -> None:
    given = written(tmp_path / "given", plain())
    listed = written(tmp_path / "listed", single("other"))

    assert load(given, environ={"KUBECONFIG": str(listed)}).server == SERVER
    assert "there is no context 'other'; there are 'dev'" in refused(
        given, environ={"KUBECONFIG": str(listed)}, context="other"
    )


def test_a_given_file_must_exist_and_not_be_empty(tmp_path: Path, account: Path) -> None:
    (tmp_path / "empty").touch()

    for name, said in [("missing", "does not exist"), ("empty", "names no cluster, user or context")]:
        found = refused(tmp_path / name, environ=IN_POD, service_account=account)
        assert found.startswith(f"{tmp_path / name}: {said}.")


def test_the_listed_files_come_before_the_home_folder(tmp_path: Path) -> None:
    written(tmp_path / ".kube" / "config", single("home"))
    listed = written(tmp_path / "listed", single("listed"))

    assert load(environ={"KUBECONFIG": str(listed)}, home=tmp_path).server == "https://listed"
    assert load(environ={"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}).server == "https://home"
    assert load("", environ={}, home=tmp_path).server == "https://home"


@pytest.mark.parametrize("listed", ["", "  ", os.pathsep, f" {os.pathsep}  {os.pathsep}"])
def test_a_blank_kubeconfig_variable_is_unset(tmp_path: Path, listed: str) -> None:
    written(tmp_path / ".kube" / "config", single("home"))

    assert load(environ={"KUBECONFIG": listed}, home=tmp_path).server == "https://home"


def test_of_a_list_missing_and_empty_entries_are_skipped(tmp_path: Path) -> None:
    there = written(tmp_path / "there", single("a"))
    (tmp_path / "empty").touch()
    entries = ["", str(tmp_path / "missing"), str(there), " ", str(there), str(tmp_path / "empty")]
    config = load(environ={"KUBECONFIG": os.pathsep.join(entries)})

    assert config.server == "https://a"


def test_a_file_listed_twice_is_read_once(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("a: ]", "utf-8")

    (line,) = refused(environ={"KUBECONFIG": os.pathsep.join([str(broken)] * 2)}).splitlines()

    assert line.startswith(f"{broken}: is not a kubeconfig")


def test_a_tilde_means_the_home_folder(tmp_path: Path) -> None:
    written(tmp_path / "mine", single("a"))

    assert load("~/mine", environ={}, home=tmp_path).server == "https://a"
    assert load(environ={"KUBECONFIG": "~/mine"}, home=tmp_path).server == "https://a"


def test_every_broken_file_of_a_list_is_named(tmp_path: Path) -> None:
    good = written(tmp_path / "good", single("a"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "text").write_text("a: ]", "utf-8")
    (tmp_path / "long").write_bytes(b"#" * (MAX_SIZE + 1))
    names = ["good", "folder", "binary", "text", "long"]
    lines = refused(environ={"KUBECONFIG": os.pathsep.join(str(tmp_path / name) for name in names)}).splitlines()

    assert good.exists()
    assert lines[0] == f"{tmp_path / 'folder'}: is a directory; name a kubeconfig file in it"
    assert lines[1].startswith(f"{tmp_path / 'binary'}: is not a kubeconfig: it is not YAML")
    assert lines[2].startswith(f"{tmp_path / 'text'}: is not a kubeconfig: it is not YAML (line 1")
    assert lines[3] == f"{tmp_path / 'long'}: is not a kubeconfig: it is larger than 16 MiB"


def test_a_path_that_no_file_can_have_is_a_config_error(tmp_path: Path) -> None:
    written(tmp_path / "file", single("a"))

    assert "cannot be read: Not a directory" in refused(tmp_path / "file" / "config")
    assert "cannot be read: no file can have such a name" in refused(environ={"KUBECONFIG": "a\0b"})


def test_a_kubeconfig_of_ten_megabytes_is_read(tmp_path: Path) -> None:
    data = several(*(f"c{number}" for number in range(700)))
    for entry in data["clusters"]:
        entry["cluster"]["certificate-authority-data"] = packed("x" * 11_000)
    path = written(tmp_path / "config", data)

    assert path.stat().st_size > 10_000_000
    assert load(path, environ={}, context="c699").server == "https://c699"


def test_in_a_pod_without_a_kubeconfig_the_service_account_is_used(tmp_path: Path, account: Path) -> None:
    config = load(environ=IN_POD, home=tmp_path, service_account=account)

    assert (config.server, config.namespace) == ("https://10.96.0.1:443", "web")
    assert (config.token_file, config.ca_file) == (account / "token", account / "ca.crt")


def test_in_a_pod_a_kubeconfig_comes_first_and_brings_its_own_namespace(tmp_path: Path, account: Path) -> None:
    written(tmp_path / ".kube" / "config", plain())
    config = load(environ=IN_POD, home=tmp_path, service_account=account)

    assert (config.server, config.namespace) == (SERVER, "default")


def test_in_a_pod_a_broken_kubeconfig_is_an_error(tmp_path: Path, account: Path) -> None:
    written(tmp_path / ".kube" / "config", plain(cluster={"server": None}))

    said = refused(environ=IN_POD, home=tmp_path, service_account=account)

    assert "context 'dev' is invalid: server: is missing" in said


def test_in_a_pod_what_the_list_lacks_is_logged(
    tmp_path: Path, account: Path, caplog: pytest.LogCaptureFixture
) -> None:
    environ = IN_POD | {"KUBECONFIG": str(tmp_path / "missing")}
    with caplog.at_level(logging.DEBUG):
        load(environ=environ, home=tmp_path, service_account=account)

    (record,) = caplog.records
    assert (record.name, record.levelno) == ("masthead.config", logging.WARNING)
    assert record.getMessage() == (
        f"{tmp_path / 'missing'} does not exist; so it is the pod's service account that is used"
    )


def test_overrides_count_in_a_pod_too(account: Path) -> None:
    config = load(
        environ=IN_POD,
        service_account=account,
        namespace="other",
        token="mine",
        insecure=True,
        impersonate="jane",
    )

    assert (config.namespace, config.token, config.token_file) == ("other", Secret("mine"), None)
    assert (config.insecure, config.ca_file) == (True, None)
    assert config.impersonate == Impersonation(user="jane")


def test_another_authority_replaces_the_pods(tmp_path: Path, account: Path) -> None:
    authority = tmp_path / "other.crt"
    authority.write_text("x")
    config = load(environ=IN_POD, service_account=account, ca_file=authority)

    assert (config.server, config.token_file) == ("https://10.96.0.1:443", account / "token")
    assert config.ca_file == authority


def test_with_a_server_nothing_need_be_there_and_the_pods_token_stays_at_home(account: Path) -> None:
    config = load(environ=IN_POD, service_account=account, server=SERVER)

    assert (config.server, config.token_file, config.ca_file) == (SERVER, None, None)


def test_nothing_found_lists_what_was_tried_and_what_to_do(tmp_path: Path) -> None:
    assert refused(home=tmp_path).splitlines() == [
        "no cluster was found:",
        "  - KUBECONFIG is not set",
        f"  - {tmp_path / '.kube' / 'config'} does not exist",
        "  - this is not a pod in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT not set",
        (
            "Name a kubeconfig, or set KUBECONFIG. Without a cluster, `masthead serve --kubeconfig-out FILE` "
            "(or `python -m masthead.server --kubeconfig-out FILE`) starts a server and writes one."
        ),
    ]
    assert "  - HOME is not set\n" in refused()
    (tmp_path / "empty").touch()
    listed = {"KUBECONFIG": f"{tmp_path / 'a'}{os.pathsep}{tmp_path / 'empty'}"}
    said = refused(environ=listed | IN_POD, home=tmp_path, service_account=tmp_path)
    assert said.splitlines()[1:4] == [
        f"  - {tmp_path / 'a'} does not exist",
        f"  - {tmp_path / 'empty'} names no cluster, user or context",
        (
            f"  - this pod has no service account token: there is no file {tmp_path / 'token'}. "
            "Do not set automountServiceAccountToken to false."
        ),
    ]


def test_a_named_context_never_falls_back_to_the_service_account(tmp_path: Path, account: Path) -> None:
    said = refused(environ=IN_POD, home=tmp_path, service_account=account, context="dev", user="me")

    assert said.startswith("the context 'dev' and the user 'me' cannot be looked up without a kubeconfig:")


@pytest.mark.parametrize("kind", ["context", "cluster", "user"])
def test_an_unknown_name_is_rejected_with_the_existing_ones(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path / "config", several("a", "b") | {"current-context": "a"})

    assert refused(path, **{kind: "c"}).endswith(f": there is no {kind} 'c'; there are 'a', 'b'")


@pytest.mark.parametrize(("kind", "there"), [("cluster", "'dev'"), ("user", "'dev'")])
def test_a_context_whose_cluster_or_user_is_missing_is_refused(kind: str, there: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_kubeconfig(plain(context={kind: "gone"}), environ={})

    said = f"the kubeconfig, context 'dev': there is no {kind} 'gone'; there are {there}"
    assert str(caught.value) == said


def test_a_missing_user_is_an_error_even_where_there_are_none_at_all() -> None:
    data = plain() | {"users": []}

    with pytest.raises(ConfigError, match="there is no user 'dev'; there is no user at all"):
        from_kubeconfig(data, environ={})


def test_a_context_without_a_user_is_anonymous() -> None:
    config = from_kubeconfig(plain(user={"token": "t"}, context={"user": ""}), environ={})

    assert not config.sends_authorization


def test_a_context_without_a_cluster_is_refused_unless_one_is_given() -> None:
    data = plain(context={"cluster": None})

    with pytest.raises(ConfigError, match="context 'dev': it names no cluster"):
        from_kubeconfig(data, environ={})
    assert from_kubeconfig(data, environ={}, cluster="dev").server == SERVER
    assert from_kubeconfig(data, environ={}, server="https://other").server == "https://other"


def test_a_cluster_without_a_server_is_refused() -> None:
    with pytest.raises(ConfigError, match="context 'dev' is invalid: server: is missing"):
        from_kubeconfig(plain(cluster={"server": None}), environ={})


@pytest.mark.parametrize(("names", "there"), [(["a"], "'a'"), (["a", "b"], "'a', 'b'")])
def test_where_no_context_is_current_one_must_be_named_even_the_only_one(
    names: list[str], there: str, tmp_path: Path
) -> None:
    said = f"current-context is empty; set it, or pass context= with one of {there}$"

    with pytest.raises(ConfigError, match=said):
        from_kubeconfig(several(*names), environ={})
    with pytest.raises(ConfigError, match=said):
        load(written(tmp_path / "config", several(*names)), environ={})
    assert from_kubeconfig(several(*names), environ={}, context="a").server == "https://a"


def test_a_cluster_needs_no_context() -> None:
    assert from_kubeconfig(several("a", "b"), environ={}, cluster="b").server == "https://b"


def test_context_cluster_and_user_can_be_chosen_one_by_one() -> None:
    data = several("a", "b", "c") | {"current-context": "a"}

    assert from_kubeconfig(data, environ={}, context="b").server == "https://b"
    mixed = from_kubeconfig(data, environ={}, cluster="b", user="c")
    assert (mixed.server, mixed.token) == ("https://b", Secret("token-of-c"))


def test_a_namespace_takes_precedence_over_the_contexts() -> None:
    data = plain(context={"namespace": "web"})

    assert from_kubeconfig(data, environ={}).namespace == "web"
    assert from_kubeconfig(data, environ={}, namespace="other").namespace == "other"


def test_defects_of_other_contexts_do_not_matter() -> None:
    data = several("good", "bad")
    data["clusters"][1]["cluster"]["certificate-authority"] = "/no/ca"
    data["users"][1]["user"]["username"] = "two-methods"

    assert from_kubeconfig(data, environ={}, context="good").server == "https://good"
    with pytest.raises(ConfigError, match="no such file: certificate-authority /no/ca"):
        from_kubeconfig(data, environ={}, context="bad")


def test_empty_overrides_override_nothing() -> None:
    data = plain(user={"token": "t"}, cluster={"tls-server-name": "n"}, context={"namespace": "web"})
    empty = from_kubeconfig(
        data,
        environ={},
        context=None,
        cluster="",
        user=None,
        namespace="",
        server="",
        proxy_url=None,
        tls_server_name="",
        insecure=None,
        ca_file=None,
        token="",
        impersonate=None,
    )

    assert empty == from_kubeconfig(data, environ={})


def test_another_server_takes_the_name_of_its_certificate_away_unless_that_is_given_too() -> None:
    data = plain(cluster={"tls-server-name": "old"})

    assert from_kubeconfig(data, environ={}, server="https://other").tls_server_name == ""
    both = from_kubeconfig(data, environ={}, server="https://other", tls_server_name="new")
    assert (both.server, both.tls_server_name) == ("https://other", "new")
    assert from_kubeconfig(data, environ={}, tls_server_name="new").server == SERVER


def test_insecure_or_another_authority_replaces_whatever_was_trusted(tmp_path: Path) -> None:
    authority = tmp_path / "ca"
    authority.write_text("x")
    trusting = plain(cluster={"certificate-authority-data": packed("pem")})
    careless = plain(cluster={"insecure-skip-tls-verify": True})

    insecure = from_kubeconfig(trusting, environ={}, insecure=True)
    assert (insecure.insecure, insecure.ca_data) == (True, "")
    for data in (trusting, careless):
        other = from_kubeconfig(data, environ={}, ca_file=str(authority))
        assert (other.insecure, other.ca_data, other.ca_file) == (False, "", authority)
    assert not from_kubeconfig(careless, environ={}, insecure=False).insecure
    assert from_kubeconfig(trusting, environ={}, insecure=False).ca_data == "pem"
    with pytest.raises(ConfigError, match="insecure: given together with an authority"):
        from_kubeconfig(trusting, environ={}, insecure=True, ca_file=authority)


def test_a_token_replaces_all_other_credentials_except_a_certificate() -> None:
    user = {
        "username": "me",
        "password": "p",
        "tokenFile": "/t",
        "exec": {"command": "aws"},
        "auth-provider": {"name": "gcp"},
        "client-certificate-data": packed("c"),
        "client-key-data": packed("k"),
    }
    config = from_kubeconfig(plain(user=user), environ={}, token=Secret("mine"))

    assert config.token == Secret("mine")
    assert (config.token_file, config.username, config.password) == (None, "", Secret())
    assert (config.exec, config.oidc) == (None, None)
    assert config.client_certificate_data == "c"


def test_another_impersonation_replaces_the_whole_one() -> None:
    data = plain(user={"as": "jane", "as-groups": ["admins"]})

    assert from_kubeconfig(data, environ={}, impersonate="joe").impersonate == Impersonation(user="joe")
    other = Impersonation(user="joe", groups=["users"])
    assert from_kubeconfig(data, environ={}, impersonate=other).impersonate == other


def test_plain_http_can_be_allowed_explicitly() -> None:
    data = plain(cluster={"server": "http://10.0.0.1"}, user={"token": "t"})

    with pytest.raises(ConfigError, match="plain HTTP"):
        from_kubeconfig(data, environ={})
    assert from_kubeconfig(data, environ={}, allow_plain_http=True).token == Secret("t")


def test_the_environments_proxy_is_used_unless_another_is_named() -> None:
    environ = {"HTTPS_PROXY": "http://proxy:3128"}
    own = plain(cluster={"proxy-url": "http://own:1"})

    assert from_kubeconfig(plain(), environ=environ).proxy_url == "http://proxy:3128"
    without_scheme = plain(cluster={"server": "host:6443", "insecure-skip-tls-verify": True})
    assert from_kubeconfig(without_scheme, environ=environ).proxy_url == "http://proxy:3128"
    assert from_kubeconfig(own, environ=environ).proxy_url == "http://own:1"
    assert from_kubeconfig(own, environ=environ, proxy_url="http://given:1").proxy_url == "http://given:1"


def test_an_unknown_override_is_a_type_error() -> None:
    misspelt = {"contxt": "a"}

    with pytest.raises(
        TypeError, match=r"load\(\) got an unexpected argument 'contxt'; the overrides are context, cluster"
    ):
        load(environ={}, **misspelt)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    with pytest.raises(TypeError, match=r"from_kubeconfig\(\) got an unexpected argument 'contxt'"):
        from_kubeconfig(plain(), **misspelt)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]


def test_the_process_own_environment_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(written(tmp_path / "config", single("mine"))))

    assert load().server == "https://mine"


def test_a_kubeconfig_may_be_given_as_plain_data() -> None:
    assert load(plain(user={"token": "t"}), environ={}).token == Secret("t")
    assert load(several("a", "b"), environ={}, context="b").server == "https://b"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "the kubeconfig: names no cluster, user or context"),
        ({"kind": "Pod", "apiVersion": "v1"}, "the kubeconfig: is not a kubeconfig but kind 'Pod'"),
        ({"clusters": {"dev": {}}}, "the kubeconfig: clusters: must be a list, and is a map"),
        (
            plain(cluster={"server": 6443}),
            "the kubeconfig: clusters[0].cluster.server: must be text, and is a number",
        ),
        (
            {**plain(), "current-context": "prod"},
            "the kubeconfig: there is no context 'prod'; there are 'dev'",
        ),
        (
            plain(context={"cluster": "prod"}),
            "the kubeconfig, context 'dev': there is no cluster 'prod'; there are 'dev'",
        ),
    ],
)
def test_an_error_names_what_is_wrong_in_plain_data(data: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(data, environ={})

    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("given", [42, b"clusters: []\n", ["a"]])
def test_a_kubeconfig_of_a_wrong_type_is_rejected(given: Any) -> None:
    with pytest.raises(ConfigError, match=rf"kubeconfig is of type {type(given).__name__}; give the path"):
        load(given, environ={})


def test_contexts_are_listed_in_order_with_the_current_one_marked(tmp_path: Path) -> None:
    data = {**several("b", "a"), "current-context": "a"}
    data["contexts"].append({"name": "c", "context": {"cluster": "a", "namespace": "shop"}})
    expected = [
        KubeContext(name="b", cluster="b", user="b"),
        KubeContext(name="a", cluster="a", user="a", is_current=True),
        KubeContext(name="c", cluster="a", namespace="shop"),
    ]
    file = written(tmp_path / "config", data)

    assert list_contexts(data) == expected
    assert list_contexts(file, environ={}) == expected
    assert list_contexts(file.read_text()) == expected
    assert list_contexts(environ={"KUBECONFIG": str(file)}) == expected


def test_the_contexts_of_several_files_are_merged(tmp_path: Path) -> None:
    first, second = written(tmp_path / "1", single("a")), written(tmp_path / "2", single("b"))

    found = list_contexts(environ={"KUBECONFIG": f"{first}{os.pathsep}{second}"})

    assert {each.name: each.is_current for each in found} == {"a": True, "b": False}


def test_without_a_kubeconfig_there_are_no_contexts(tmp_path: Path) -> None:
    assert list_contexts(environ={}, home=tmp_path) == []
    with pytest.raises(ConfigError, match="does not exist"):
        list_contexts(tmp_path / "absent")
