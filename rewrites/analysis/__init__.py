"""Analyses of terms, by which rules decide whether they apply: folds, windows, accesses, linearity,
signs of sizes."""
