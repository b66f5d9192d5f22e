"""CEL, the expression language of validation rules: parsing, type checking, evaluation and cost.

- `errors`, `types`, `values`, `objects`, `quoting`: what expressions are made of, and values with a schema.
- `nodes`, `lexer`, `macros`, `parser`: from text to nodes.
- `structs`, `declarations`, `library`, `environment`: the functions and messages of Kubernetes 1.36.
- `unification`, `validators`, `checker`: the types of nodes.
- `ranges`, `costs`, `call_estimates`, `estimate`: what an evaluation costs, and can cost at most.
- `frames`, `attributes`, `literals`, `logic`, `dispatch`, `comprehensions`, `compiler`: from nodes to closures.
- `admission_types`: the variables of admission.
- `program`: all of it, as `Program`.
"""
