"""From OpenAPI and discovery, or from CRD manifests, to modules of typed objects.

::

    folder, live server, CRD manifest ──sources──> Spec ──types──> ModuleDef ──render──> Python text ──generate──> files

Every step between the first and the last, which read and write files, is a pure function:

=================================  ============================================================================
`sources`, `documents`, `crds`     read what is there into a `spec`: schemas by name, resources by kind
`homes`, `types`, `identifiers`         decide on modules, classes, fields and their names: `definitions`
`render`, `layout`                 write them down as the formatter would
`generate`                         compares the files with those that stand in a folder, and replaces them
`clientset`                        writes a class for every group and version, from the same `spec`
`facade`, `mirroring`, `scopes`    write the blocking classes, from the source of the async ones
=================================  ============================================================================
"""
