"""The side conditions of all rules, each with a term where it holds and one that violates it."""

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
