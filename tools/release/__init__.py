"""The checks of a release before it is published: ``make release-check``.

| module | contents |
|---|---|
| `pythons` | the interpreters at hand |
| `archives` | the contents and the metadata of the wheel and the sdist |
| `installs` | the archives in clean environments |
| `smoke`, `smoke_alone` | the programs that are run there, with and without the server |
| `inventory` | the program that lists the distributions of an environment |
| `licences` | the licences of dependencies, and which of them are allowed |
| `sbom` | a CycloneDX software bill of materials |
| `changelog` | the section of a version in CHANGELOG.md |
| `check` | all of it |
"""
