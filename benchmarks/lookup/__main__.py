"""``python -m benchmarks.lookup``."""

from benchmarks.lookup.benchmark import main

if __name__ == "__main__":
    main()
