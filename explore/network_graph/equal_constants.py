"""Numbers for the contents of constants: equal ones where constants hold the same bytes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from explore.onnx_model.onnx_graph import Array

SAMPLES = 64  # bytes that are compared before all are


@dataclass(slots=True)
class Contents:
    """The arrays that were met, each with its number, by type, size and a sample of their bytes."""

    met: dict[tuple[str, int, bytes], list[tuple[int, Array]]] = field(default_factory=dict)
    count: int = 0

    def of(self, constants: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, int]]:
        """The constants by name, where those with contents that were met before are the array that
        was met, and the numbers of their contents."""
        numbered = {name: self._numbered(array) for name, array in constants.items()}
        arrays = {name: array for name, (_, array) in numbered.items()}
        return arrays, {name: number for name, (number, _) in numbered.items()}

    def _numbered(self, array: Array) -> tuple[int, Array]:
        """The number of an array's contents, and an array of its shape that holds them."""
        flat = _bytes(array)
        sample = flat[:: max(1, flat.size // SAMPLES)].tobytes()
        alike = self.met.setdefault((array.dtype.name, array.nbytes, sample), [])
        for number, other in alike:
            if np.array_equal(_bytes(other), flat):
                return number, other.reshape(array.shape)
        alike.append((self.count, array))
        self.count += 1
        return alike[-1]


def _bytes(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
