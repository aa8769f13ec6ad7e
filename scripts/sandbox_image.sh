#!/bin/sh
# Builds the image of Docker sandboxes with the runner of this checkout.
# Usage: scripts/sandbox_image.sh        Optional variables: BASE=image (a Debian), AGENT_SANDBOX_IMAGE=name.
set -eu
cd "$(dirname "$0")/.."
base=${BASE:-debian:bookworm-slim}
image=${AGENT_SANDBOX_IMAGE:-paca-sandbox:1}
python=.venv/bin/python
[ -x "$python" ] || python=python3
version=$("$python" -c 'from paca.sandbox import runner_bundle; print(runner_bundle.runner_version())')

# The build downloads from Debian's archive, on some machines through a proxy. Neither the proxy nor the
# host's network becomes part of the image.
exec docker build --network host \
    --build-arg "BASE=$base" \
    --build-arg HTTP_PROXY --build-arg HTTPS_PROXY --build-arg NO_PROXY \
    --build-arg http_proxy --build-arg https_proxy --build-arg no_proxy \
    --label "paca.runner=$version" \
    --tag "$image" --file paca/sandbox/image/Dockerfile paca/sandbox
