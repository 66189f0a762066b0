"""The side conditions of all rules, with a term where each holds and one where it is violated."""

from tests.support import (
    conditions_maps,
    conditions_sums,
    conditions_views,
    conditions_whole_numbers,
)

CONDITIONS = [
    *conditions_maps.CONDITIONS,
    *conditions_views.CONDITIONS,
    *conditions_sums.CONDITIONS,
    *conditions_whole_numbers.CONDITIONS,
]
