"""The claims of tux, as programs that print them: our figure and the other side's in one run."""
