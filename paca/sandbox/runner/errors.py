"""The ways in which the runner says no; the worker turns the code into its own exception."""


class RequestError(Exception):
    """A request that cannot be done. ``detail`` empty: the worker's sentence for the code."""

    def __init__(self, code: str, detail: str = "") -> None:
        self.code = code
        self.detail = detail
        super().__init__(detail or code)
