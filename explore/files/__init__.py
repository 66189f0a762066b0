"""Folders and files written safely: reached by descriptors, locked, and complete or not there."""
