"""Headers and cookie flags that every answer carries."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

# Nothing here uses a device or a payment; a page that is tricked into asking is refused.
PERMISSIONS_POLICY = ", ".join(
    f"{feature}=()"
    for feature in (
        "accelerometer",
        "camera",
        "display-capture",
        "geolocation",
        "gyroscope",
        "magnetometer",
        "microphone",
        "midi",
        "payment",
        "usb",
    )
)


class SecurityHeaders:
    """Adds what Django has no setting for, and makes cookies Secure when the request was."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        if request.is_secure():
            for cookie in response.cookies.values():
                cookie["secure"] = True
        return response
