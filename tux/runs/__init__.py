"""One run from data to model, and the uses of a model afterwards."""
