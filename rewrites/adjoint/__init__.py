"""Derivatives of programs, by laws: what each operation hands back to its operands, composed from a
program's result to a parameter, and gathered so that nothing is scattered."""
