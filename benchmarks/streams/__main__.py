"""``python -m benchmarks.streams``."""

from benchmarks.streams.benchmark import main

if __name__ == "__main__":
    main()
