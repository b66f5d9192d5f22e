"""``python -m benchmarks.connections``."""

from benchmarks.connections.benchmark import main

if __name__ == "__main__":
    main()
