"""Manifests, image and project template of an operator.

| module | contents |
|---|---|
| `settings` | the settings of the manifests |
| `definitions` | the CustomResourceDefinitions |
| `access` | the service account, roles and role bindings |
| `workload` | the Deployment and the namespace |
| `manifests` | all manifests by file |
| `image` | the Dockerfile |
| `project`, `templates/` | a new project |
"""
