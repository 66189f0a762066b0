"""What is kept of a run: options, records, the store, the front."""
