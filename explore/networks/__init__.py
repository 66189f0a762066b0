"""Whole networks: the layers of a model are explored within one limit of time; the variants chosen
are run, reported and exported."""
