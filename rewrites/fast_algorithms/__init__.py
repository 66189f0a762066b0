"""The laws of algorithms with fewer products: bilinear algorithms, Fourier transforms."""
