"""``python -m benchmarks.server``."""

from benchmarks.server.benchmark import main

if __name__ == "__main__":
    main()
