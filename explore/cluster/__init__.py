"""Workers on other machines: builds go to any worker of a cluster, measurements to those that own a
device."""
