"""``python -m benchmarks.schemas``."""

from benchmarks.schemas.benchmark import main

if __name__ == "__main__":
    main()
