"""``python -m benchmarks.sharding``."""

from benchmarks.sharding.benchmark import main

if __name__ == "__main__":
    main()
