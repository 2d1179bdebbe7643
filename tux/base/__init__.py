"""What anything may use: errors, random numbers, words for messages, the cache folder."""
