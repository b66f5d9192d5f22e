"""What an operator needs beside its code: manifests, an image, and a project to begin with.

| module | contents |
|---|---|
| `settings` | what the manifests of an operator are about |
| `definitions` | its custom resources |
| `access` | its service account and the roles that are bound to it |
| `workload` | its Deployment and its namespace |
| `manifests` | all of it, by file |
| `image` | its Dockerfile |
| `project`, `templates/` | a new project |
"""
