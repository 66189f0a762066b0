"""The counting side: how many points there are, all of them, a uniform sample."""
