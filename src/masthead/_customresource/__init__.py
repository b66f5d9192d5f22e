"""Custom resources as classes: a class with annotations is the CustomResourceDefinition.

From the bottom up:

====================  ==================================================================================
`rendering`           definitions as text
`docstrings`          documentation of classes and fields
`embedded_types`      inlined schemas of Kubernetes' types
`field_types`         the schema of an annotation
`defaults`            the defaults of a class as defaults of its schema
`schemas`             the schema of a class
`names`               the names of a resource, and checks of options
`options`             class keywords: columns, scale, conversion and so on
`json_paths`          simple paths into a schema: columns, scale, selectable fields
`checks`              the server's checks of a schema
`definitions`         the definition of one or several versions
`resource`            `CustomResource` and its metaclass
`sources`             the classes of modules
====================  ==================================================================================
"""
