"""Tables: the columns and cells that kubectl prints for objects of each kind."""
