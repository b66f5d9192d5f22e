"""What a release must be before it is published: ``make release-check``.

| module | contents |
|---|---|
| `pythons` | the interpreters at hand |
| `archives` | what is in the wheel and the sdist, and what their metadata say |
| `installs` | the archives in clean environments |
| `smoke`, `smoke_alone` | the programs that are run there, with and without the server |
| `inventory` | the program that lists what an environment has |
| `licences` | the licences of dependencies, and which of them are allowed |
| `sbom` | a CycloneDX software bill of materials |
| `changelog` | what CHANGELOG.md says about a version |
| `check` | all of it |
"""
