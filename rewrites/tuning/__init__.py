"""What a family is (forms, traits, parameters), and a program lowered by a form."""
