"""The worker, which runs stages on a partition, and the loop over epochs."""
