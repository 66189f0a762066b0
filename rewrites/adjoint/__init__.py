"""Derivatives of programs, by laws. The law of each operation says what cotangent each operand
gets; laws are composed from a program's result back to a parameter, and what arrives is gathered:
each element is a sum of what it gets, so that no two work-items add to one place."""
