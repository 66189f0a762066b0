"""Peers: other libraries that compute the same program, measured beside our variants."""
