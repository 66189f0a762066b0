"""The shares of a network's programs in the tries that are left."""

from collections.abc import Mapping


def shares(times: Mapping[int, float], tries: int) -> dict[int, int]:
    """The tries of each program, by its number: `tries` in all, divided as the programs' `times`
    are. The largest remainders are rounded up."""
    total = sum(times.values())
    if not total or tries < 1:
        return {}
    exact = {number: tries * t / total for number, t in times.items()}
    found = {number: int(share) for number, share in exact.items()}
    rest = sorted(exact, key=lambda number: (found[number] - exact[number], number))
    for number in rest[: tries - sum(found.values())]:
        found[number] += 1
    return found
