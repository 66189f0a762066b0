"""The proofs of a kernel's tree: accesses in bounds, no races, barriers met by all together."""
