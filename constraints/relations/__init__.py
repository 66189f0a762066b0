"""Relations between sizes (at most, equal, divides, one of), and bounds of parameters that follow
from them."""
