"""Regular expressions in RE2's syntax, as Go has them, matched in linear time.

Patterns of schemas and rules are written for Go. Python's `re` has another syntax, and can need exponential time.

- `charsets`: sets of characters: ranges, Unicode's categories and scripts, upper and lower case.
- `program`: the instructions that a pattern becomes.
- `syntax`: the parser.
- `pattern`: searching a text with that program.
"""
