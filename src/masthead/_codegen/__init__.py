"""Generates modules of typed objects from OpenAPI and discovery documents, or from CRD manifests.

::

    folder, live server, CRD manifest ──sources──> Spec ──types──> ModuleDef ──render──> Python text ──generate──> files

The first step reads files or a server, the last one writes files; the steps between them are pure functions.

===============================  ==============================================================================
`sources`, `documents`, `crds`   read the input into a `spec`: schemas by name, resources by kind
`homes`, `types`, `identifiers`  choose modules, classes, fields and their names: `definitions`
`render`, `layout`               write Python text in the style of the formatter
`generate`                       compares the files with those in a folder, and replaces them
`command`                        the command line
===============================  ==============================================================================

The generators of the repository (clientset, informer groups, blocking façade) are in ``tools/``.
"""
