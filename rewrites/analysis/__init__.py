"""Questions about terms that rules ask: folds, windows, accesses, linearity, signs of sizes."""
