"""The engine of rewriting: rules, strategies, derivations, and their check by the interpreter."""
