"""Statement trees: emission makes them, proofs read them, and the printer spells them."""
