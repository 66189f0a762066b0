"""Runs for devices that are not here, once there is a compiler for them: the variants that look
best are compiled, and their times predicted from what the compiler made of them."""
