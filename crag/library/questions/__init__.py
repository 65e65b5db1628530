"""Questions derived by rules from the sentences and headings of a text, which answers them.

A rule that does not fit exactly yields nothing: no question is better than an odd one. Pure functions without a model.
"""
