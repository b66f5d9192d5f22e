"""The documentation site: ``make docs`` assembles its pages in ``build/docs``, and MkDocs makes a site of them.

::

    docs/**, CHANGELOG.md … ──pages──┐
    files that they link to ──pages──┼──> build/docs ──mkdocs build --strict──> site/
    the code ──reference── docstrings┘

- `docstrings`: Markdown of a docstring.
- `reference`: the pages about the public modules, made from the code at run time.
- `pages`: documents of the repository and what they link to, with links that lead to pages.
- `hook`: has MkDocs assemble the pages again, when it serves them and a file changes.

Nothing here imports MkDocs, so that the tests can do all of it but the last step.
"""
