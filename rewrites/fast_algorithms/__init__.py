"""The laws of algorithms with fewer products: bilinear algorithms and Fourier transforms."""
