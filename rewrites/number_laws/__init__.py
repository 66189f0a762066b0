"""The laws of numbers: types of sums, precision, zero points, instructions, one equation each."""
