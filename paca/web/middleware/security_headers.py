"""Security headers and cookie flags of every response."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

# Pages use no devices and no payments, so injected code cannot ask for them either.
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
    """Adds Permissions-Policy and Cache-Control, and marks cookies as Secure if the request came by HTTPS."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        # Pages, API and downloads hold what one person may see, so no proxy and no shared computer keeps
        # them. Static files have their own header.
        response.headers.setdefault("Cache-Control", "private, no-store")
        if request.is_secure():
            for cookie in response.cookies.values():
                cookie["secure"] = True
        return response
