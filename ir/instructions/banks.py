"""Banks of local memory: the turns in which the lanes of a sub-group get the words that they
access.

Neighbouring words lie in neighbouring banks. In a turn, a bank serves one word, to all lanes that
access it. Lanes are served together, in rounds of as many as access one word for each bank; turns
of a round beyond the first are conflicts.
"""

import numpy as np
from numpy.typing import NDArray

BANKS = 32
WORD = 4  # bytes
NOBODY = np.iinfo(np.int64).max  # in place of a word: no lane asks for one

Words = NDArray[np.int64]


def conflicts(words: Words) -> Words:
    """The number of conflicts of each access: the turns beyond the first, summed over its rounds.
    `words` are the words accessed, as accesses × lanes × words of a lane."""
    accesses, lanes, width = words.shape
    together = max(1, BANKS // width)
    missing = -lanes % together
    whole = np.pad(words, ((0, 0), (0, missing), (0, 0)), constant_values=NOBODY)
    rounds = whole.reshape(-1, together * width)
    beyond = np.maximum(turns(rounds) - 1, 0)
    waited: Words = beyond.reshape(accesses, -1).sum(axis=1, dtype=np.int64)
    return waited


def turns(words: Words) -> Words:
    """The number of turns that each row of words takes: the most different words of the row that
    lie in one bank."""
    rows = np.sort(words, axis=1)
    first = np.ones_like(rows, dtype=bool)
    first[:, 1:] = rows[:, 1:] != rows[:, :-1]
    row, column = np.nonzero(first & (rows != NOBODY))
    banks = row * BANKS + rows[row, column] % BANKS
    asked = np.bincount(banks, minlength=len(rows) * BANKS).reshape(-1, BANKS)
    most: Words = asked.max(axis=1, initial=0).astype(np.int64)
    return most
