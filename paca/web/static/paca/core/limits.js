// Generated from paca/web/limits.py by `make docs`; change the limits where it imports them.

export const MAX_MESSAGE_CHARACTERS = 100000;
export const MAX_TITLE_CHARACTERS = 200;
export const PAGE_EVENTS = 200;
