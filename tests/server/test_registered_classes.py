"""Classes that a program registers for its clients do not change the behaviour of the embedded server."""

from __future__ import annotations

import subprocess
import sys

import pytest

# In processes of their own: what is registered stays registered. The program prints the response of the server to each
# request, so that the transcripts of processes with other registered classes can be compared.
PROGRAM = """
import http.client, json, sys
import masthead
import masthead.server
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.resource import Resource

def register():
    class Named(masthead.Object):
        flavor: str | None = None

    def kind(group, version, name, resource):
        fields = {"GVK": GroupVersionKind(group, version, name), "RESOURCE": resource, "__module__": __name__}
        masthead.meta.register(type(Named)(name, (Named,), fields))

    kind("", "v1", "Pod", Resource("pods", "pod", namespaced=False, verbs=("get",)))
    kind("apps", "v1", "Pod", Resource("pods", "pod", verbs=("get", "list", "create")))
    kind("apps", "v1", "ReplicaSet", Resource("sets", "set", namespaced=False, verbs=("get",)))
    kind("policy", "v1", "Eviction", Resource("evictions", "eviction", verbs=("create",)))
    kind("policy", "v1", "PodDisruptionBudget", Resource("budgets", "budget", verbs=("get",)))
    kind("autoscaling", "v1", "Scale", Resource("scales", "scale", verbs=("get",)))
    kind("apps", "v1beta1", "Deployment", Resource("deployments", "deployment", verbs=("get",)))
    kind("example.com", "v1", "Widget", Resource("widgets", "widget", verbs=("get", "list")))

when = sys.argv[1]
if when == "before":
    register()
clock = masthead.server.VirtualClock()
with masthead.server.run(seed=7, clock=clock, token=None) as server:
    if when == "after":
        register()
    host = server.url.removeprefix("http://")

    def call(method, path, body=None, content_type="application/json"):
        connection = http.client.HTTPConnection(host)
        headers = {"Content-Type": content_type, "User-Agent": "test"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        print(method, path, response.status, response.read().decode().replace(host, "HOST").strip())
        connection.close()

    def pod(name, **metadata):
        spec = {"containers": [{"name": "c", "image": "i"}]}
        return {"metadata": {"name": name, "labels": {"app": "web"}, **metadata}, "spec": spec, "flavor": "x"}

    pods = "/api/v1/namespaces/default/pods"
    call("POST", pods, pod("web"))
    call("POST", pods, {**pod("other"), "kind": "Pod", "apiVersion": "apps/v1"})
    call("POST", pods, {**pod("other"), "kind": "Deployment", "apiVersion": "apps/v1beta1"})
    call("POST", pods, {**pod("other"), "kind": "Widget", "apiVersion": "example.com/v1"})
    call("GET", pods + "/web")
    call("PATCH", pods + "/web", {"metadata": {"labels": {"a": "b"}}, "flavor": "y"}, "application/merge-patch+json")
    call("PATCH", pods + "/web", {"kind": "Pod", "apiVersion": "apps/v1"}, "application/merge-patch+json")
    call("GET", pods + "?fieldSelector=status.phase%3DPending")

    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    call("PATCH", pods + "/web/status", {"status": ready}, "application/merge-patch+json")
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    call("POST", budgets, {"metadata": {"name": "web"}, "spec": spec})
    call("PATCH", budgets + "/web/status", {"status": {"observedGeneration": 1}}, "application/merge-patch+json")
    eviction = {"metadata": {"name": "web"}, "kind": "Eviction", "apiVersion": "policy/v1", "flavor": "x"}
    call("POST", pods + "/web/eviction", eviction)
    call("PATCH", budgets + "/web/status", {"status": {"disruptionsAllowed": 1, "observedGeneration": 1,
         "currentHealthy": 1, "desiredHealthy": 0, "expectedPods": 1}}, "application/merge-patch+json")
    call("POST", pods + "/web/eviction", eviction)

    sets = "/apis/apps/v1/namespaces/default/replicasets"
    template = {"metadata": {"labels": {"app": "set"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    owner = {"metadata": {"name": "set"},
             "spec": {"selector": {"matchLabels": {"app": "set"}}, "template": template}}
    call("POST", sets, owner)
    call("PUT", sets + "/set/scale", {"metadata": {"name": "set"}, "spec": {"replicas": 3}, "flavor": "x"})
    connection = http.client.HTTPConnection(host)
    connection.request("GET", sets + "/set")
    uid = json.loads(connection.getresponse().read())["metadata"]["uid"]
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": uid}
    call("POST", pods, pod("owned", ownerReferences=[reference]))
    call("DELETE", sets + "/set")
    server.block_until_idle()
    server.advance(60)
    server.block_until_idle()
    call("GET", pods + "/owned")

    for path in ("/api", "/apis", "/api/v1", "/apis/apps/v1", "/apis/policy/v1", "/apis/example.com/v1",
                 "/apis/example.com/v1/widgets", "/apis/apps/v1beta1/deployments"):
        call("GET", path)
"""


def transcript(when: str) -> str:
    command = [sys.executable, "-c", PROGRAM, when]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # The server logs once that nothing computes the status of a disruption budget.
    unexpected = [line for line in done.stderr.splitlines() if "have no effect on this server" not in line]
    assert (done.returncode, unexpected) == (0, [])
    return done.stdout


@pytest.fixture(scope="module")
def undisturbed() -> str:
    return transcript("never")


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_registered_classes_change_no_response(when: str, undisturbed: str) -> None:
    assert transcript(when) == undisturbed


def test_the_transcript_covers_eviction_and_garbage_collection(undisturbed: str) -> None:
    lines = undisturbed.splitlines()
    codes = [(line.split()[0], line.split()[1].rpartition("/")[2], int(line.split()[2])) for line in lines]

    assert [code for method, name, code in codes if (method, name) == ("POST", "eviction")] == [429, 201]
    assert ("GET", "owned", 404) in codes
    assert ("PUT", "scale", 200) in codes
