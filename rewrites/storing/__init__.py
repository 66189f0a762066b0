"""Strategies that prepare kernels before their nests are lowered: one reduction each, which views a
program stores, and how its constants lie in memory."""
