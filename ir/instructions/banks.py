"""Banks of local memory: the turns that it takes to serve what the lanes of a sub-group ask for.

Neighbouring words lie in neighbouring banks, which serve one word a turn, to all lanes that ask for
it. A device serves as many lanes together as ask for one word a bank; what they ask for beyond that
waits for further turns: these are the conflicts.
"""

import numpy as np
from numpy.typing import NDArray

BANKS = 32
WORD = 4  # bytes
NOBODY = np.iinfo(np.int64).max  # in place of a word: no lane asks for one

Words = NDArray[np.int64]


def conflicts(words: Words) -> Words:
    """The turns beyond the first of all its rounds that each access takes. `words`: those that
    lanes ask for, as accesses × lanes × words of a lane."""
    accesses, lanes, width = words.shape
    together = max(1, BANKS // width)
    missing = -lanes % together
    whole = np.pad(words, ((0, 0), (0, missing), (0, 0)), constant_values=NOBODY)
    rounds = whole.reshape(-1, together * width)
    beyond = np.maximum(turns(rounds) - 1, 0)
    waited: Words = beyond.reshape(accesses, -1).sum(axis=1, dtype=np.int64)
    return waited


def turns(words: Words) -> Words:
    """The turns that each row takes: as many as different words that lie in one bank."""
    rows = np.sort(words, axis=1)
    first = np.ones_like(rows, dtype=bool)
    first[:, 1:] = rows[:, 1:] != rows[:, :-1]
    row, column = np.nonzero(first & (rows != NOBODY))
    banks = row * BANKS + rows[row, column] % BANKS
    asked = np.bincount(banks, minlength=len(rows) * BANKS).reshape(-1, BANKS)
    most: Words = asked.max(axis=1, initial=0).astype(np.int64)
    return most
