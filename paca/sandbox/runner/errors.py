"""The error of a request that the runner refuses; the worker turns its code into an exception."""


class RequestError(Exception):
    """A request that cannot be carried out. Without ``detail`` the worker uses its own text for the code."""

    def __init__(self, code: str, detail: str = "") -> None:
        self.code = code
        self.detail = detail
        super().__init__(detail or code)


class RunnerExhausted(RequestError):
    """No command can be started any more, and the runner ends after this answer."""

    def __init__(self, detail: str) -> None:
        super().__init__("workspace_error", detail)
