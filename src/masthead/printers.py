"""Objects in tables, as ``kubectl get`` prints them.

::

    from masthead import printers

    print(printers.table(client.core_v1.pods("default").list()))
    print(client.core_v1.pods("default").table(wide=True))

`table` makes the columns and cells itself, from objects of a cache, a list or a manifest, typed or not;
``table`` of a client has the server make them.
"""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead._printers.printer import Cell as Cell
    from masthead._printers.printer import Column as Column
    from masthead._printers.table import PrintedRow as PrintedRow
    from masthead._printers.table import PrintedTable as PrintedTable
    from masthead._printers.table import table as table

_HOMES = {
    "Cell": "masthead._printers.printer",
    "Column": "masthead._printers.printer",
    "PrintedRow": "masthead._printers.table",
    "PrintedTable": "masthead._printers.table",
    "table": "masthead._printers.table",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
