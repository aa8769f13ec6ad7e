# One image for the web server and the workers; compose.yml shows how they are started.
#
#   docker build --tag paca:1 .
#
# BASE is any Debian 12 or newer. The image contains no secret: a container gets them as variables.
ARG BASE=debian:bookworm-slim
FROM ${BASE}

RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git python3 python3-venv \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/apt/archives/*.deb \
 && useradd --system --uid 10001 --user-group --home-dir /var/lib/paca --create-home \
    --shell /usr/sbin/nologin paca \
 && chmod 700 /var/lib/paca \
 # The volumes with the network gates, the package caches of sandboxes and the mirrors are made with this owner.
 && install -d -o paca -g paca -m 0700 /var/lib/paca/run /var/lib/paca/run/egress /var/lib/paca/caches /var/lib/paca/mirrors

# Before the code, so that a change to it costs seconds. Each package is checked against its hash, and
# compiled once here instead of at each start.
COPY requirements.txt /srv/
RUN python3 -m venv /opt/paca \
 && /opt/paca/bin/pip install --no-cache-dir --disable-pip-version-check --no-input --progress-bar=off \
    --require-hashes --compile --requirement /srv/requirements.txt \
 && /opt/paca/bin/pip uninstall --yes --quiet pip setuptools

WORKDIR /srv/paca
COPY manage.py scripts/container_health.py ./
COPY paca paca
RUN python3 -m compileall -q --invalidation-mode unchecked-hash paca

# `python manage.py doctor` in a container runs the Python that has the packages.
ENV PATH=/opt/paca/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PACA_DATA_DIR=/var/lib/paca PACA_BIND=0.0.0.0
USER paca
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python3", "-IS", "container_health.py"]
# As process 1 it receives SIGTERM itself: it drains, then exits with 0.
STOPSIGNAL SIGTERM
ENTRYPOINT ["python", "manage.py"]
CMD ["up", "--no-worker"]
