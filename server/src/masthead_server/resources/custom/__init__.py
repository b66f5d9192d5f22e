"""Custom resources: their definitions, codecs, validation and subresources.

=====================  ===============================================================================
`definition`           a CustomResourceDefinition, as far as serving its objects is concerned
`object_metadata`      metadata as Go's ObjectMeta, at the root of objects and in embedded ones
`conversion_review`    the request to a conversion webhook, and the validation of its response
`webhook_converter`    conversion by webhook
`codec`                decoding by the schema, conversion between versions, and stored text
`scale`                the scale subresource
`selectable_fields`    fields that field selectors may name
`deferred_validation`  large objects, validated in a thread
`validation`           validation of objects
`behavior`             defaults, admission and validation, as the hooks of the write pipeline
`resource`             the resources of a definition, one for each version
`installer`            the definitions of a server, and their resources in its catalog
=====================  ===============================================================================
"""
