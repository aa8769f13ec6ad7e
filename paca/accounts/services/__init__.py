"""What can be done with people, their tokens and links."""

from paca.accounts.services.people import look_up, make_first_admin, one_time_link, redeem

__all__ = ["look_up", "make_first_admin", "one_time_link", "redeem"]
