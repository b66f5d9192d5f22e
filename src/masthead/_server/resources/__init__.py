"""What the server knows of each kind of object."""
