"""Tests of the shares of programs in tries."""

from explore.network_choice.quick_look import shares


def test_tries_go_where_the_time_goes_and_none_is_lost() -> None:
    assert shares({3: 60.0, 5: 30.0, 8: 10.0}, 10) == {3: 6, 5: 3, 8: 1}
    assert shares({0: 1.0, 1: 1.0, 2: 1.0}, 8) == {0: 3, 1: 3, 2: 2}
    assert shares({}, 8) == {}
    assert shares({0: 5.0}, 0) == {}
