"""``python -m benchmarks.requests``."""

from benchmarks.requests.benchmark import main

if __name__ == "__main__":
    main()
