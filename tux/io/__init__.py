"""Files in, files out: a room for each kind of data, and one for the text and files under all.

    source    files and their lines: which files, which lines are rows
    formats   which format a file has
    edges     a row is an edge: tables, graphs, sparse matrices
    bags      a row is a bag of columns: documents and their words
    samples   a row is a sample: features, labels, weights
    vertices  a row is a vertex: tables of fields, labels, vectors

Reads from: `arrays`. Used by: `synthetic`, `options`, `inputs`.
"""
