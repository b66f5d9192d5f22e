"""What schemas cost: see `benchmarks.schemas.benchmark`."""
