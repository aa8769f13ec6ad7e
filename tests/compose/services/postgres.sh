# As the official image begins: a cluster for POSTGRES_USER on an empty volume. Other commands just run.
set -eu
[ $# -eq 0 ] || exec "$@"
data=/var/lib/postgresql/data
as_postgres() { setpriv --reuid postgres --regid postgres --clear-groups "$@"; }
mkdir -p "$data"
chown postgres:postgres "$data"
chmod 700 "$data"
if [ ! -e "$data/PG_VERSION" ]; then
    printf '%s\n' "$POSTGRES_PASSWORD" >/run/password
    chown postgres /run/password
    as_postgres initdb --pgdata "$data" --username "$POSTGRES_USER" --pwfile /run/password \
        --auth-host scram-sha-256 --auth-local trust --encoding UTF8 --no-sync
    rm /run/password
    echo "host all all all scram-sha-256" >>"$data/pg_hba.conf"
    as_postgres pg_ctl --pgdata "$data" --wait --options "-c listen_addresses=''" start
    as_postgres createdb --username "$POSTGRES_USER" "$POSTGRES_DB"
    as_postgres pg_ctl --pgdata "$data" --wait stop
fi
mkdir -p /var/run/postgresql
chown postgres /var/run/postgresql
exec setpriv --reuid postgres --regid postgres --clear-groups postgres -D "$data" -c "listen_addresses=*"
