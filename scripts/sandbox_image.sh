#!/bin/sh
# Makes the image that Docker sandboxes start from, with the runner of this checkout in it.
# Usage: scripts/sandbox_image.sh        BASE=image (a Debian), AGENT_SANDBOX_IMAGE=name may be set.
set -eu
cd "$(dirname "$0")/.."
base=${BASE:-debian:bookworm-slim}
image=${AGENT_SANDBOX_IMAGE:-paca-sandbox:1}
python=.venv/bin/python
[ -x "$python" ] || python=python3
version=$("$python" -c 'from paca.sandbox import runner_bundle; print(runner_bundle.runner_version())')

# A build must reach Debian's archive, on some machines only through their proxy; neither it nor the
# host's network is part of what comes out.
exec docker build --network host \
    --build-arg "BASE=$base" \
    --build-arg HTTP_PROXY --build-arg HTTPS_PROXY --build-arg NO_PROXY \
    --build-arg http_proxy --build-arg https_proxy --build-arg no_proxy \
    --label "paca.runner=$version" \
    --tag "$image" --file paca/sandbox/image/Dockerfile paca/sandbox
