"""What a replica takes that shares its objects with others."""
