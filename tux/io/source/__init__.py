"""Files and their lines, whatever they mean: which files DATA stands for (`input_files`), their
shares for several loaders (`input_shares`), blocks of lines (`text`), the lines that are rows
(`table_lines`), whether row 1 has names (`row_one`), cells (`cells`), numbers, and where each line
came from (`places`).

Used by: all readers.
"""
