"""``python -m benchmarks.explore``."""

from benchmarks.explore.benchmark import main

if __name__ == "__main__":
    main()
