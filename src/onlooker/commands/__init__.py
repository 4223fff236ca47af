"""One module a command; each has `run(argv) -> exit code`."""
