"""The records of families (forms, traits, parameters), and programs lowered by a form."""
