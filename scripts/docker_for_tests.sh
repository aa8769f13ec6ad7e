#!/usr/bin/env bash
# Provides Docker for tests on a Debian machine without a registry: the engine (installed if
# missing), a running daemon (started if none answers), and a local base image made from Debian's own
# archive. A second call takes a second and changes nothing. Prints the name of the base image last.
#
# Usage: scripts/docker_for_tests.sh           then: docker build --build-arg BASE=paca-base:bookworm ...
set -euo pipefail

SUITE=bookworm
BASE=paca-base:$SUITE
BUNDLE=/etc/ssl/certs/ca-certificates.crt
LOCAL_CERTIFICATES=/usr/local/share/ca-certificates
LOG=${TMPDIR:-/tmp}/paca-dockerd.log

say() { printf '… docker       %s\n' "$*" >&2; }
die() { printf '%s\n' "$*" >&2; exit 1; }
answers() { timeout 20 docker info >/dev/null 2>&1; }
as_root() { [[ $EUID -eq 0 ]] || die "$1 needs root. Next step: sudo $0"; }

install_packages() {
    local missing=()
    command -v dockerd >/dev/null || [[ -n ${DOCKER_HOST:-} ]] || missing+=(docker.io)
    command -v debootstrap >/dev/null || missing+=(debootstrap)
    ((${#missing[@]})) || return 0
    as_root "Installing ${missing[*]}"
    say "installing ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

start_daemon() {
    answers && return
    as_root "Starting the Docker daemon"
    say "starting the daemon (its log: $LOG)"
    # In a session of its own and without our descriptors: the daemon outlives this script and does
    # not keep the lock below.
    setsid nohup dockerd >"$LOG" 2>&1 </dev/null 9>&- &
    for _ in {1..150}; do
        answers && return
        sleep 0.2
    done
    tail -n 20 "$LOG" >&2
    die "The Docker daemon does not start; the end of its log is above."
}

# The package sources and trusted certificates of this machine go into the image, never into the repository.
apt_sources() {
    local found
    found=$(apt-get indextargets --format '$(SITE) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
        awk -v suite="$SUITE" '$1 ~ /^http/ && $3 == "main" && index($2, suite) == 1 {print "deb", $1, $2, "main"}' | sort -u)
    grep -q " $SUITE main" <<<"$found" || found="deb http://deb.debian.org/debian $SUITE main"
    printf '%s\n' "$found"
}

apt_configuration() {
    apt-config dump Acquire | grep -iE '(Proxy|Check-Valid-Until|Check-Date)[^ ]* "[^"]+"' || true
}

pip_configuration() {
    printf '[global]\ncert = %s\n' "$BUNDLE"
    python3 -m pip config list 2>/dev/null |
        sed -nE "s/^global\.(index-url|extra-index-url|proxy)='(https?:[^']*)'$/\1 = \2/p" || true
}

fingerprint() {
    { cat "$0" "$BUNDLE" 2>/dev/null; apt_sources; apt_configuration; pip_configuration; } | sha256sum | cut -c1-16
}

make_base() {
    local version
    version=$(fingerprint)
    [[ $(docker image inspect --format '{{index .Config.Labels "paca.base"}}' "$BASE" 2>/dev/null) != "$version" ]] || return 0
    as_root "Making the base image"
    say "making $BASE with debootstrap (a minute or two)"
    making=$(mktemp -d)
    trap 'rm -rf --one-file-system "$making"' EXIT
    local root=$making/root mirror
    mirror=$(apt_sources | awk -v suite="$SUITE" '$3 == suite {print $2; exit}')
    debootstrap --variant=minbase "$SUITE" "$root" "$mirror" >"$making/log" 2>&1 ||
        { tail -n 20 "$making/log" >&2; die "debootstrap failed; the end of its log is above."; }
    apt_sources >"$root/etc/apt/sources.list"
    apt_configuration >"$root/etc/apt/apt.conf.d/90machine"
    pip_configuration >"$root/etc/pip.conf"
    install -D -m 644 "$BUNDLE" "$root$BUNDLE"
    # A build that installs ca-certificates generates the bundle again, from these files.
    [[ ! -d $LOCAL_CERTIFICATES ]] || cp -rT "$LOCAL_CERTIFICATES" "$root$LOCAL_CERTIFICATES"
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no package starts a service in a build
    chmod 755 "$root/usr/sbin/policy-rc.d"
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/var/log/*.log
    tar -C "$root" --numeric-owner --one-file-system -c . |
        docker import --change 'CMD ["/bin/bash"]' --change "LABEL paca.base=$version" - "$BASE" >/dev/null
}

install_packages
exec 9>"${TMPDIR:-/tmp}/paca-docker-for-tests.lock"
flock 9 # two calls at once must not start two daemons or make two images
start_daemon
make_base
printf '%s\n' "$BASE"
