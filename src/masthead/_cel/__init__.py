"""CEL, the expression language of validation rules: parsing, type checking, evaluation and cost."""
