"""From OpenAPI and discovery, or from CRD manifests, to modules of typed objects.

::

    folder, live server, CRD manifest ──sources──> Spec ──types──> ModuleDef ──render──> Python text

Every step is a pure function but the first, which reads.
"""
