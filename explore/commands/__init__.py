"""The subcommands of `explore`, and their arguments."""
