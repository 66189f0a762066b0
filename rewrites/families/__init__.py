"""The families: each is one way to lower programs, with its forms and parameters."""
