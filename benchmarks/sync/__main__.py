"""``python -m benchmarks.sync``."""

from benchmarks.sync.benchmark import main

if __name__ == "__main__":
    main()
