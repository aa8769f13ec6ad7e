"""The base classes of errors that people and programs see: one sentence each, and a stable code."""

from paca.common.text import to_storable


class PacaError(Exception):
    """Something went wrong."""

    code = "error"
    status = 400

    def __init__(self, detail: str | None = None, **facts: object) -> None:
        """``detail`` replaces the class's sentence. ``facts`` go to the log and never to a page."""
        # The one door for words from outside: whatever a server said becomes a row somewhere.
        # guard: common-storable-errors
        self.detail = to_storable(detail or (type(self).__doc__ or "").strip().partition("\n")[0])
        self.facts = facts
        super().__init__(self.detail)


class NotFound(PacaError):
    """There is nothing at this address."""

    code = "not_found"
    status = 404


class NotAllowed(PacaError):
    """Your role does not allow this."""

    code = "permission_denied"
    status = 403


class Invalid(PacaError):
    """The input is not valid."""

    code = "invalid"
    status = 400

    def __init__(
        self, detail: str | None = None, *, fields: dict[str, list[str]] | None = None
    ) -> None:
        super().__init__(detail)
        self.fields = fields or {}


class Conflict(PacaError):
    """This clashes with what is already there."""

    code = "conflict"
    status = 409

    @property
    def present(self) -> object:
        """The object as it is now, if the answer of the API shows it."""
        return None


class ConfigurationError(PacaError):
    """A setting is missing or wrong."""

    code = "configuration"
    status = 500
