"""The Website operator: a Deployment and a Service for each Website, and a directory of the sites of each namespace.

masthead run examples/website/website.py           # with the cluster that kubectl uses
masthead manifests examples/website/website.py     # the definition, the roles, the Deployment and the webhooks
"""

from typing import Annotated

import masthead
from masthead.aio import ReconcileContext
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap, Service
from masthead.controller import Permission, Reads
from masthead.crd import Field
from masthead.meta import Condition, Struct, is_condition_true
from masthead.webhook import AdmissionRequest, FieldError, invalid

DIRECTORY = "websites"


class WebsiteSpec(Struct):
    """What a site is made of.

    Attributes:
        image: Serves the site on port 8080.
        replicas: The number of pods.
        public: Whether the site has a Service.
    """

    image: Annotated[str, Field(min_length=1)]
    replicas: Annotated[int, Field(minimum=0, maximum=100)] = 1
    public: bool = True


class WebsiteStatus(Struct):
    """How a site is doing."""

    observed_generation: int | None = None
    ready_replicas: int = 0
    url: str | None = None
    conditions: list[Condition] = []


class Website(
    masthead.CustomResource,
    group="example.com",
    version="v1",
    short_names=["ws"],
    columns={"Replicas": ".spec.replicas", "Ready": ".status.readyReplicas", "URL": ".status.url"},
):
    """A site, served by some pods."""

    spec: WebsiteSpec
    status: WebsiteStatus


class OldWebsiteSpec(Struct):
    """What a site was made of in v1alpha1, when every site was public."""

    container: Annotated[str, Field(min_length=1)]
    replicas: Annotated[int, Field(minimum=0, maximum=100)] = 1


class OldWebsite(masthead.CustomResource, group="example.com", version="v1alpha1", kind="Website", storage=False):
    """A site, as older clients read and write it."""

    spec: OldWebsiteSpec
    status: WebsiteStatus


app = masthead.Manager(leader_election="website-operator")


@app.controller(
    Website,
    owns=[Deployment, Service],
    reads=[Reads(ConfigMap, field_selector={"metadata.name": DIRECTORY})],
    finalizer="example.com/directory",
    permissions=[Permission(ConfigMap, "create", "patch", names=[DIRECTORY])],
    workers=4,
)
async def reconcile(ctx: ReconcileContext[Website], site: Website) -> None:
    """Make the cluster match a site's spec, and its status match the cluster."""
    if await ctx.finalize(lambda: list_in_directory(ctx, site, None)):
        return
    deployment = await ctx.apply(deployment_of(site))
    url = await expose(ctx, site)
    await list_in_directory(ctx, site, url)

    status = deployment.status
    # Of the new pods only: those of an older image are ready, too, while a rollout is stuck.
    ready = min(status.ready_replicas or 0, status.updated_replicas or 0)
    is_up = ready >= site.spec.replicas
    message = f"{ready} of {site.spec.replicas} replicas are ready"
    if is_up and not is_condition_true(site.status.conditions, "Ready"):
        ctx.record("Normal", "Up", message)
    await ctx.update_status(
        {"ready_replicas": ready, "url": url},
        conditions=[ctx.condition("Ready", is_up, "Up" if is_up else "Progressing", message)],
    )


async def expose(ctx: ReconcileContext[Website], site: Website) -> str | None:
    """Make the Service of a site, or delete it; return the address of the site."""
    if site.spec.public:
        service = await ctx.apply(service_of(site))
        return f"http://{service.metadata.name}.{service.metadata.namespace}.svc"
    for service in await ctx.owned(Service):
        await ctx.delete(service)
    return None


async def list_in_directory(ctx: ReconcileContext[Website], site: Website, url: str | None) -> None:
    """Set or remove the line of a site in the ConfigMap that all sites share, and none can own."""
    entry = ConfigMap.new(DIRECTORY, data={site.metadata.name: url} if url else {})
    await ctx.apply(entry, owned=False, field_manager=f"website-{site.metadata.uid}")


def deployment_of(site: Website) -> Deployment:
    """The Deployment of a site."""
    labels = {"app": site.metadata.name}
    container = {"name": "web", "image": site.spec.image, "ports": [{"containerPort": 8080}]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": site.spec.replicas, "selector": {"matchLabels": labels}, "template": template}
    return Deployment.new(site.metadata.name, spec=spec)


def service_of(site: Website) -> Service:
    """The Service of a site."""
    spec = {"selector": {"app": site.metadata.name}, "ports": [{"port": 80, "targetPort": 8080}]}
    return Service.new(site.metadata.name, spec=spec)


@app.validate(Website)
def check(request: AdmissionRequest[Website], site: Website) -> list[FieldError]:
    """Refuse images whose content changes, and warn about large sites."""
    if site.spec.replicas > 50:
        request.warn(f"{site.spec.replicas} replicas are expensive")
    return [invalid("spec.image", site.spec.image, "needs a version")] if site.spec.image.endswith(":latest") else []


@app.convert(OldWebsite, Website)
def upgrade(old: OldWebsite) -> Website:
    """Convert a site of v1alpha1."""
    is_public = old.metadata.annotations.get("example.com/public") != "false"
    spec = {"image": old.spec.container, "replicas": old.spec.replicas, "public": is_public}
    return Website.new(spec=spec, status=old.status)


@app.convert(Website, OldWebsite)
def downgrade(site: Website) -> OldWebsite:
    """Convert a site to v1alpha1, and keep in an annotation what that version lacks."""
    annotations = site.metadata.annotations | {"example.com/public": str(site.spec.public).lower()}
    spec = {"container": site.spec.image, "replicas": site.spec.replicas}
    return OldWebsite.new(annotations=annotations, spec=spec, status=site.status)


if __name__ == "__main__":
    app.run()
