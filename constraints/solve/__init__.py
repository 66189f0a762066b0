"""The engine that asks Z3: whether there is a legal point, why not, and what constraints imply."""
