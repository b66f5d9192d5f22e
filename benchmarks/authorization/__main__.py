"""``python -m benchmarks.authorization``."""

from benchmarks.authorization.benchmark import main

if __name__ == "__main__":
    main()
