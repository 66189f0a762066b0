"""The record book: one file in which what was measured is kept from run to run."""
