"""The choice of an option for each layer of a network: options and what each needs, the memory plan
that they make, and the 0-1 programme that settles which.
"""
