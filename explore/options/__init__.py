"""The options of a run; values that people and stored files give, checked as they are read."""
