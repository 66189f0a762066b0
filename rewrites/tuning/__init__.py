"""Families (forms, traits, parameters), and programs lowered by a form."""
