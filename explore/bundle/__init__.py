"""Bundles: the best variants of a run as a folder that a person runs on a board or phone, and the
run that is made of the file of results which they bring back."""
