"""Strategies for kernels that transform tiles, rows and spectra, for `winograd`, `strassen` and
`fgfft`."""
