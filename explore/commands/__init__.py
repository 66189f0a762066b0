"""The commands of `explore`: what each of them does."""
