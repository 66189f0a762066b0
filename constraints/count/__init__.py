"""The engine that counts: the number of legal points, all of them, and uniform samples of them."""
