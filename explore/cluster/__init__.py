"""Clusters: workers on other machines. Any worker can build; those that own a device measure."""
