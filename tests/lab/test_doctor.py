"""What the doctor says of seats."""

from __future__ import annotations

from fairground.lab import doctor
from fairground.model import Seats


def test_the_doctor_draws_seats_and_says_what_is_lacking() -> None:
    """A picture where there are seats, the remark where there is one."""
    assert doctor.seats_lines(Seats((0,), (1,), (1,)))[1:3] == (
        "│ core 0 │ core 1                 │",
        "│ server │ database and generator │",
    )
    assert doctor.seats_lines(Seats((), (), (), "there is one core only")) == ("seats: there is one core only",)
    assert doctor.seats_lines(Seats((0,), (1,), (1,), "siblings"))[-1] == "seats: siblings"
