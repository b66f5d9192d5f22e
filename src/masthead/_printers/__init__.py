"""Tables: the columns and cells that kubectl prints for objects of each kind.

From the bottom up: `plain` and `formats` (reading plain data, and text of its parts), `ages`, `printer` (columns and
cells), one module for each group of kinds, `jsonpath` and `custom` (columns of custom resources), `kinds` (the
printer of a kind), `layout` (text of a table), `table` (what users see).
"""
