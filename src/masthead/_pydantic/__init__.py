"""The types of the API in pydantic: validation, serialization and JSON schemas.

pydantic calls `Struct.__get_pydantic_core_schema__`, and that method imports this package: without pydantic, nothing
here is loaded. From the bottom up:

===================  ==================================================================================
`json_schemas`       the JSON schema of a class, with references to other classes
`validation`         values from plain data, and the decoder's errors as pydantic's
`core_schemas`       the schemas that pydantic asks for
===================  ==================================================================================
"""
