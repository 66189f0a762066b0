"""Rules, strategies, derivations, and their check by the interpreter."""
