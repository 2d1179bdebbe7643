"""What tux claims, as programs that print it: our figure and the other side's in one run."""
