"""Apply: lists whose items have keys, sets, and lists that are one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, named, pod, service, template

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Lists of apply")


def with_containers(*containers: Plain, **spec: Any) -> Plain:
    """A deployment with these containers."""
    made = deployment("a")
    made["spec"]["template"] = {**template(), "spec": {"containers": list(containers), **spec}}
    return made


def container(name: str = "main", **fields: Any) -> Plain:
    return {"name": name, "image": "image", **fields}


def with_ports(*ports: Plain) -> Plain:
    return service("a", spec={"ports": list(ports)})


def with_env(*variables: Plain) -> Plain:
    return with_containers(container(env=list(variables)))


def variables(*names: str) -> list[Plain]:
    return [{"name": name, "value": name} for name in names]


@case("ports of a service are merged by port and protocol")
def _(api: Api) -> None:
    api.apply("services", "a", with_ports({"name": "web", "port": 80}))
    api.apply("services", "a", with_ports({"name": "dns", "port": 53, "protocol": "UDP"}), "two")
    api.apply("services", "a", with_ports({"name": "web", "port": 80, "targetPort": "http"}))


@case("the protocol of a port is a key with a default")
def _(api: Api) -> None:
    api.apply("services", "a", with_ports({"name": "web", "port": 80}))
    api.apply("services", "a", with_ports({"name": "web", "port": 80, "protocol": "TCP"}))
    api.apply("services", "a", with_ports({"name": "web", "port": 80, "protocol": "TCP"}), "two")
    both = ({"name": "tcp", "port": 80}, {"name": "udp", "port": 80, "protocol": "UDP"})
    api.apply("services", "a", with_ports(*both))
    api.apply("services", "a", with_ports(*both), force="true")


@case("a port that stands twice")
def _(api: Api) -> None:
    api.apply("services", "a", with_ports({"name": "a", "port": 80}, {"name": "b", "port": 80}))
    twice = ({"name": "a", "port": 80}, {"name": "b", "port": 80, "protocol": "TCP"})
    api.apply("services", "a", with_ports(*twice))


@case("a port that changes its key is another")
def _(api: Api) -> None:
    api.apply("services", "a", with_ports({"name": "web", "port": 80, "targetPort": 8080}))
    api.apply("services", "a", with_ports({"name": "web", "port": 81, "targetPort": 8080}))
    api.apply("services", "a", with_ports({"name": "web", "port": 81, "protocol": "UDP"}))


@case("ports of a container")
def _(api: Api) -> None:
    api.apply("deployments", "a", with_containers(container(ports=[{"containerPort": 80}])))
    ports = [{"containerPort": 443, "name": "tls"}, {"containerPort": 80, "name": "web"}]
    api.apply("deployments", "a", with_containers(container(ports=ports)))
    api.apply("deployments", "a", with_containers({"name": "main", "ports": [{"containerPort": 9}]}), "two")
    api.apply("deployments", "a", with_containers(container()))


@case("ports of a container with and without a protocol stand twice")
def _(api: Api) -> None:
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]
    api.apply("deployments", "a", with_containers(container(ports=ports)))
    ports = [{"containerPort": 80, "name": "a"}, {"containerPort": 80, "protocol": "UDP", "name": "b"}]
    api.apply("deployments", "a", with_containers(container(ports=ports)))


@case("a second manager adds a container")
def _(api: Api) -> None:
    api.apply("deployments", "a", with_containers(container()))
    sidecar = {**named("apps/v1", "Deployment", "a"), "spec": {"template": {"spec": {}}}}
    sidecar["spec"]["template"]["spec"]["containers"] = [container("sidecar")]
    api.apply("deployments", "a", sidecar, "two")
    api.apply("deployments", "a", with_containers(container(image="new")))
    api.apply("deployments", "a", named("apps/v1", "Deployment", "a"), "two")


@case("a container that is applied no more goes, unless another has it")
def _(api: Api) -> None:
    api.apply("deployments", "a", with_containers(container(), container("log", args=["a"])))
    api.apply("deployments", "a", with_containers({"name": "log", "args": ["a"]}), "two")
    api.apply("deployments", "a", with_containers(container()))


@case("the order of applied containers is that of the configuration")
def _(api: Api) -> None:
    api.apply("deployments", "a", with_containers(container("a"), container("b"), container("c")))
    api.apply("deployments", "a", with_containers(container("c"), container("a"), container("b")))
    api.apply("deployments", "a", with_containers(container("b"), container("x"), container("a")))


@case("the order of containers of two managers")
def _(api: Api) -> None:
    api.apply("deployments", "a", with_containers(container("a"), container("b"), container("c")))
    api.apply("deployments", "a", with_containers(container("x"), container("c"), container("y")), "two")
    api.apply("deployments", "a", with_containers(container("c"), container("b"), container("z")), "three")
    api.apply("deployments", "a", with_containers(container("z"), container("a"), container("x")), "four")


@case("variables of two managers")
def _(api: Api) -> None:
    api.apply("deployments", "a", with_env(*variables("A", "B")))
    api.apply("deployments", "a", with_env(*variables("C", "A")), "two")
    api.apply("deployments", "a", with_env(*variables("B")))
    api.apply("deployments", "a", with_env({"name": "C", "value": "other"}))


@case("the order of variables when some are put between others")
def _(api: Api) -> None:
    api.apply("deployments", "a", with_env(*variables("A", "B", "C", "D")))
    api.apply("deployments", "a", with_env(*variables("X", "B", "Y", "D", "Z")), "two")
    api.apply("deployments", "a", with_env(*variables("D", "A", "Q")), "three")


@case("a variable that stands twice")
def _(api: Api) -> None:
    api.apply("deployments", "a", with_env(*variables("A", "B", "A")))
    api.apply("deployments", "a", with_env({"name": "A"}, {"name": "A", "value": ""}))


@case("variables that stand twice by an update, and what apply makes of them")
def _(api: Api) -> None:
    twice = [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}, {"name": "A", "value": "2"}]
    api.create("deployments", with_env(*twice))
    api.apply("deployments", "a", with_env({"name": "B", "value": "1"}))
    api.apply("deployments", "a", with_env({"name": "C", "value": "1"}))
    api.apply("deployments", "a", with_env({"name": "A", "value": "3"}))
    api.apply("deployments", "a", with_env({"name": "A", "value": "3"}), force="true")


@case("a variable from elsewhere takes the place of a value")
def _(api: Api) -> None:
    source = {"fieldRef": {"fieldPath": "metadata.name"}}
    api.apply("deployments", "a", with_env({"name": "A", "value": "1"}))
    api.apply("deployments", "a", with_env({"name": "A", "valueFrom": source}))
    api.apply("deployments", "a", with_env({"name": "A", "value": "1"}), "two")


@case("arguments and commands are one value")
def _(api: Api) -> None:
    api.apply("deployments", "a", with_containers(container(args=["a", "b"], command=["run"])))
    api.apply("deployments", "a", with_containers(container(args=["b", "b"], command=["run"])))
    api.apply("deployments", "a", with_containers(container(args=["b"])), "two")


@case("tolerations are one value")
def _(api: Api) -> None:
    first, second = {"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}
    api.apply("deployments", "a", with_containers(container(), tolerations=[first]))
    api.apply("deployments", "a", with_containers(container(), tolerations=[second]), "two")
    api.apply("deployments", "a", with_containers(container(), tolerations=[first]), "two")
    api.apply("deployments", "a", with_containers(container()))


@case("volumes and volume mounts")
def _(api: Api) -> None:
    volumes: list[Plain] = [{"name": "data", "emptyDir": {}}]
    mounts: list[Plain] = [{"name": "data", "mountPath": "/data"}]
    api.apply("deployments", "a", with_containers(container(volumeMounts=mounts), volumes=volumes))
    mounts = [
        {"name": "data", "mountPath": "/other"},
        {"name": "data", "mountPath": "/data", "readOnly": True},
    ]
    api.apply("deployments", "a", with_containers(container(volumeMounts=mounts), volumes=volumes))
    volumes = [{"name": "data", "configMap": {"name": "c"}}]
    api.apply("deployments", "a", with_containers(container(volumeMounts=mounts), volumes=volumes))
    volumes = [{"name": "data", "emptyDir": None, "configMap": {"name": "c"}}]
    api.apply("deployments", "a", with_containers(container(volumeMounts=mounts), volumes=volumes))


@case("items of a projected volume")
def _(api: Api) -> None:
    sources = [{"configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}}]
    volumes = [{"name": "v", "projected": {"sources": sources}}]
    api.apply("deployments", "a", with_containers(container(), volumes=volumes))
    volumes = [{"name": "v", "projected": {"sources": [*sources, {"secret": {"name": "s"}}]}}]
    api.apply("deployments", "a", with_containers(container(), volumes=volumes), "two")


@case("aliases of hosts by their address")
def _(api: Api) -> None:
    one, two = {"ip": "10.1.1.1", "hostnames": ["a", "b"]}, {"ip": "10.1.1.2", "hostnames": ["c"]}
    api.apply("deployments", "a", with_containers(container(), hostAliases=[one]))
    api.apply("deployments", "a", with_containers(container(), hostAliases=[two, {"ip": "10.1.1.1"}]), "two")
    api.apply("deployments", "a", with_containers(container(), hostAliases=[one, one]))


@case("finalizers are a set")
def _(api: Api) -> None:
    api.apply("configmaps", "a", config_map("a", finalizers=["example.com/b", "example.com/a"]))
    api.apply("configmaps", "a", config_map("a", finalizers=["example.com/c", "example.com/b"]), "two")
    api.apply("configmaps", "a", config_map("a", finalizers=["example.com/a"]))
    api.apply("configmaps", "a", config_map("a", finalizers=["example.com/a", "example.com/a"]))
    api.apply("configmaps", "a", config_map("a"))


@case("owner references by uid")
def _(api: Api) -> None:
    first, second = api.create("configmaps", config_map("one")), api.create("configmaps", config_map("two"))
    one = {"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "uid": first.uid}
    two = {"apiVersion": "v1", "kind": "ConfigMap", "name": "two", "uid": second.uid}
    api.apply("configmaps", "a", config_map("a", ownerReferences=[one]))
    api.apply("configmaps", "a", config_map("a", ownerReferences=[two]), "two")
    api.apply("configmaps", "a", config_map("a", ownerReferences=[one, one]))
    api.apply("configmaps", "a", config_map("a", ownerReferences=[{**one, "uid": None}]))
    api.apply("configmaps", "a", config_map("a"))


@case("conditions by type")
def _(api: Api) -> None:
    api.create("pods", pod("a"))
    ready: Plain = {"type": "Ready", "status": "True"}
    body: Plain = named("v1", "Pod", "a")
    api.apply("pods", "a/status", {**body, "status": {"conditions": [ready]}})
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "NoNodes"}
    api.apply("pods", "a/status", {**body, "status": {"conditions": [scheduled]}}, "two")
    api.apply("pods", "a/status", {**body, "status": {"conditions": [{**ready, "status": "False"}]}}, "two")
    api.apply("pods", "a/status", body)


@case("pull secrets, topology constraints and readiness gates")
def _(api: Api) -> None:
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    spec: Plain = {
        "imagePullSecrets": [{"name": "one"}],
        "topologySpreadConstraints": [spread],
        "readinessGates": [{"conditionType": "example.com/a"}],
    }
    api.apply("pods", "a", pod("a", spec=spec))
    spec["imagePullSecrets"] = [{"name": "two"}, {"name": "one"}]
    api.apply("pods", "a", pod("a", spec=spec))
    api.apply("deployments", "a", with_containers(container(), imagePullSecrets=[{}]))
    api.apply("deployments", "a", with_containers(container(), imagePullSecrets=[{}, {"name": "b"}]))


@case("init containers and containers of the same name")
def _(api: Api) -> None:
    body = with_containers(container(), initContainers=[container("first"), container("second")])
    api.apply("deployments", "a", body)
    api.apply("deployments", "a", with_containers(container(), initContainers=[container("zero")]), "two")
    api.apply("deployments", "a", with_containers(container(), initContainers=[container("main")]), "three")


@case("an item without its key")
def _(api: Api) -> None:
    api.apply("deployments", "a", with_containers({"image": "image"}))
    api.apply("services", "a", with_ports({"name": "web"}))
    api.apply("deployments", "a", with_env({"value": "1"}))
    api.apply("deployments", "a", with_containers(container(), hostAliases=[{"hostnames": ["a"]}]))


@case("empty lists")
def _(api: Api) -> None:
    api.apply("deployments", "a", with_containers(container(env=[], ports=[]), tolerations=[], volumes=[]))
    api.apply("deployments", "a", with_containers(container(env=variables("A"), ports=[])))
    api.apply("deployments", "a", with_containers(container(env=[])))
    api.apply("configmaps", "a", config_map("a", finalizers=[]))


@case("subjects of a binding and rules of an ingress are one value")
def _(api: Api) -> None:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}
    binding = named("rbac.authorization.k8s.io/v1", "RoleBinding", "a", roleRef=role)
    ann, bob = ({"kind": "User", "name": name, "apiGroup": role["apiGroup"]} for name in ("ann", "bob"))
    api.apply("rolebindings", "a", {**binding, "subjects": [ann]})
    api.apply("rolebindings", "a", {**binding, "subjects": [bob, ann]}, "two")
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    rule = {
        "host": "a.example.com",
        "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]},
    }
    ingress = named("networking.k8s.io/v1", "Ingress", "a", spec={"rules": [rule]})
    api.apply("ingresses", "a", ingress)
    api.apply("ingresses", "a", named("networking.k8s.io/v1", "Ingress", "a", spec={"rules": []}), "two")


@case("endpoints, taints and capacities")
def _(api: Api) -> None:
    name = f"{api.namespace}-n"
    taints = [{"key": "a", "effect": "NoSchedule"}]
    api.apply("nodes", name, named("v1", "Node", name, spec={"taints": taints}))
    api.apply("nodes", name, named("v1", "Node", name, spec={"taints": [{**taints[0], "value": "x"}]}), "two")
    body = named("v1", "Node", name, status={"capacity": {"cpu": "1", "memory": "1Gi"}})
    api.apply("nodes", f"{name}/status", body)
    body = named("v1", "Node", name, status={"capacity": {"cpu": "1000m", "memory": "1024Mi"}})
    api.apply("nodes", f"{name}/status", body, "two")
    subset = {"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 80}]}
    api.apply("endpoints", "a", named("v1", "Endpoints", "a", subsets=[subset]))
    api.apply("endpoints", "a", named("v1", "Endpoints", "a", subsets=[subset, subset]), "two")


@case("quantities and durations that mean the same")
def _(api: Api) -> None:
    api.apply("deployments", "a", with_containers(container(resources={"requests": {"cpu": "1000m"}})))
    api.apply("deployments", "a", with_containers(container(resources={"requests": {"cpu": "1"}})), "two")
    api.apply("deployments", "a", with_containers(container(resources={"requests": {"cpu": 1}})), "three")
    api.apply("deployments", "a", with_containers(container(resources={"requests": {"cpu": "1000m"}})))
