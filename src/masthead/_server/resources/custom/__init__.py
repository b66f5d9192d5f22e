"""Custom resources: their definitions, codecs, validation and subresources.

==================  ====================================================================================
`definition`        a CustomResourceDefinition, as far as serving its objects is concerned
`object_metadata`   metadata as Go's ObjectMeta, at the root of objects and in embedded ones
`codec`             decoding by the schema, conversion between versions, and stored text
`scale`             the scale subresource
`behavior`          validation, admission and defaults, as the hooks of the write pipeline
`resource`          the resources of a definition, one for each version
`registry`          the definitions of a server, and their resources in its catalog
==================  ====================================================================================
"""
