"""Whole networks: a model's layers are explored under one limit of time, and what is chosen is run,
reported and exported.
"""
