"""The choice of an option for each layer of a network: the options and what each needs, the 0-1
programme that decides, and the memory plan of the options chosen."""
