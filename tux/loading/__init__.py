"""Loading in shares: n loaders read a part of the input each, and make together the parts that one
process makes of all of it.
"""
