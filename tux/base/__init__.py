"""Code for all other packages: errors, random numbers, words for messages, the cache folder."""
