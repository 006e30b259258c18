"""The subcommands of `ares-worker`, one module a group."""
