"""How fast operators are explored, and whether runs repeat exactly."""
