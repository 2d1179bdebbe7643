"""Files in, files out: every format of edges, samples, documents, labels and vectors."""
