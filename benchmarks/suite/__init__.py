"""All benchmarks in one go: run them, keep what they measured, and draw it.

| module | contents |
|---|---|
| `catalog` | every benchmark, its sizes, and which of its figures are drawn |
| `results` | a benchmark's figures with machine, versions and date, as a file |
| `versions` | the versions of what is measured, run by the interpreter that has it |
| `charts` | bar charts as SVG |
| `pictures` | results as charts |
| `page` | ``docs/benchmarks.md`` |
| `command` | ``python -m benchmarks`` |
"""
