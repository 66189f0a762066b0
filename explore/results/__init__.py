"""The data kept of a run: options, records, the store, the front."""
