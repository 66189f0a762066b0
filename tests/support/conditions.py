"""The side conditions of all rules, with a term where each holds and one where it is violated."""

from tests.support import (
    conditions_maps,
    conditions_number_types,
    conditions_sums,
    conditions_views,
)

CONDITIONS = [
    *conditions_maps.CONDITIONS,
    *conditions_views.CONDITIONS,
    *conditions_sums.CONDITIONS,
    *conditions_number_types.CONDITIONS,
]
