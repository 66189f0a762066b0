"""What drivers make of texts: the options to build them with, and binaries, changed and kept."""
