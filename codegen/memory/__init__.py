"""Buffers that share storage, registers, and barriers."""
