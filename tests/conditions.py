"""The side conditions of all rules."""

import conditions_maps
import conditions_sums
import conditions_views

CONDITIONS = [
    *conditions_maps.CONDITIONS,
    *conditions_views.CONDITIONS,
    *conditions_sums.CONDITIONS,
]
