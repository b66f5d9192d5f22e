"""What it costs to import the package and to read the first pod."""
