"""The record book: one file in which outcomes of variants are kept from run to run."""
