"""Services for people and one-time links; those for tokens are in ``tokens``."""

from paca.accounts.services.people import (
    create_one_time_link,
    create_person,
    get_link_user,
    make_first_admin,
    redeem_link,
)

__all__ = [
    "create_one_time_link",
    "create_person",
    "get_link_user",
    "make_first_admin",
    "redeem_link",
]
