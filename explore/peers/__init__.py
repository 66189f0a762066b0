"""Other libraries that compute the same program, measured beside ours."""
