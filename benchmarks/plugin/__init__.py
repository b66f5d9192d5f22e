"""What the pytest plugin costs a small test."""
