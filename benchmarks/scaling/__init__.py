"""How an informer's cost grows with the number of objects."""
