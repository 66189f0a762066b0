"""Statement trees: what emission makes, proofs read and the printer spells."""
