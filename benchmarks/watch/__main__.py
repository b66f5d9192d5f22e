"""``python -m benchmarks.watch``."""

from benchmarks.watch.benchmark import main

if __name__ == "__main__":
    main()
