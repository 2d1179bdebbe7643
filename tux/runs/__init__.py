"""One run from data to model, and what is done with a model afterwards."""
