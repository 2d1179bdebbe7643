"""The command line: flags in, text out."""
