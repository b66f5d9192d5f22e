"""Custom resources as classes: a class with annotations is the CustomResourceDefinition.

From the bottom up:

====================  ==================================================================================
`rendering`           definitions as text
`docstrings`          documentation of classes and of their fields
`embedded_types`      Kubernetes' own types within a custom resource: their schemas, inlined
`field_types`         the schema of an annotation
`defaults`            the defaults of a class as defaults of its schema
`schemas`             the schema of a class
`names`               the names of a resource, and what is wrong with options
`options`             what a class says about its definition beyond its fields
`json_paths`          simple paths into a schema: columns, scale, selectable fields
`checks`              what the server would refuse about a schema
`definitions`         the definition of one or several versions
`resource`            `CustomResource` and its metaclass
`sources`             the classes of modules
====================  ==================================================================================
"""
