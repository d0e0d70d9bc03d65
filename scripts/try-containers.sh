#!/usr/bin/env bash
# `bash scripts/try-containers.sh`: builds the image, runs it alone and by compose.yaml on a Docker engine, and checks
# what docs/run/operations.md and docs/start/production.md say about both. It takes port 3000 and those after it, uses names of its own, and
# removes what it made. It ends with the first line that is not as documented. An engine whose containers have no
# default network needs NETWORK, the name of one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export COMPOSE_PROJECT_NAME=quota-trial COMPOSE_ENV_FILES
network=${NETWORK:+--network $NETWORK}
scratch=$(mktemp -d)
COMPOSE_ENV_FILES="$scratch/env"
cleanup() {
  docker compose down --volumes --timeout 20 >/dev/null 2>&1 || true
  docker rm --force --volumes quota-trial >/dev/null 2>&1 || true
  docker volume rm quota-trial-data >/dev/null 2>&1 || true
  rm -rf "$scratch"
}
trap cleanup EXIT
trap 'echo "not as documented: line $LINENO" >&2' ERR

say() { printf '%s\n' "$*"; }
api() { curl -sf -H "Authorization: Bearer $token" -H 'Content-Type: application/json' "$@"; }
ready() { for _ in $(seq 120); do curl -sf "http://127.0.0.1:${1:-3000}/health/ready" >/dev/null && return; sleep 0.5; done; return 1; }
create() { api -d '{"account_id":7,"quota_type":1,"total":100,"expire_at":"2999-01-01T00:00:00Z"}' http://127.0.0.1:3000/api/v1/quotas >/dev/null; }
consume() { api -H "Idempotency-Key: trial-$1" -d '{"account_id":7,"amount":10}' "http://127.0.0.1:${2:-3000}/api/v1/quotas/usage/consume" >/dev/null; }
used() { api "http://127.0.0.1:${1:-3000}/api/v1/quotas/summary/7" | grep -o '"used":[0-9]*' | cut -d: -f2; }
# The service is the child of the container's init process; a crash ends it, and not by way of the engine.
crash() { kill -KILL "$(pgrep -P "$(docker inspect -f '{{.State.Pid}}' quota-trial-service-1)")"; }
state() { docker inspect -f '{{.State.Status}} {{.State.ExitCode}}' "${1:-quota-trial-service-1}"; }

docker build ${NETWORK:+--network host} --build-arg COMMIT="$(git rev-parse HEAD)" -t quota-service . >"$scratch/build"
[ "$(docker inspect -f '{{index .Config.Labels "org.opencontainers.image.revision"}}' quota-service)" = "$(git rev-parse HEAD)" ]
# shellcheck disable=SC2086
docker run --rm $network quota-service node dist/src/token.js --name trial --role admin >"$scratch/token"
token=$(grep -o 'qs_admin_[A-Za-z0-9_-]*' "$scratch/token")
entry=$(grep -o 'trial:admin:[0-9a-f]*' "$scratch/token")
sed "s|^AUTH_TOKENS=.*|AUTH_TOKENS=$entry|; s|^\(MARIADB[A-Z_]*PASSWORD\)=.*|\1=$(openssl rand -hex 24)|" .env.example >"$scratch/env"
grep -q "^AUTH_TOKENS=$entry" "$scratch/env"
say 'image: built, labelled, makes a token'

for user in '' '12345:0'; do
  # shellcheck disable=SC2086
  docker run -d --name quota-trial $network ${user:+--user $user} --init --restart unless-stopped --stop-timeout 40 \
    -p 127.0.0.1:3000:3000 --memory 1g --pids-limit 200 --read-only --tmpfs /tmp --cap-drop ALL \
    --security-opt no-new-privileges -v quota-trial-data:/app/data -e DATABASE_URL=sqlite:/app/data/quota.db \
    -e AUTH_TOKENS="$entry" quota-service >/dev/null
  ready && create && consume 1
  docker exec quota-trial node dist/src/backup.js data/copy.db >/dev/null
  docker cp -q quota-trial:/app/data/copy.db "$scratch/copy.db" && docker exec quota-trial rm data/copy.db
  consume 2 && docker stop quota-trial >/dev/null && [ "$(state quota-trial)" = 'exited 0' ]
  # shellcheck disable=SC2086
  docker run -i --rm $network --volumes-from quota-trial --user "$(docker inspect -f '{{.Config.User}}' quota-trial)" quota-service \
    sh -c 'rm -f data/quota.db-wal data/quota.db-shm && cat > data/quota.db' <"$scratch/copy.db"
  docker start quota-trial >/dev/null && ready && [ "$(used)" = 10 ]
  docker exec quota-trial node dist/src/verify.js | grep -q ' 0 contradictions'
  docker rm --force quota-trial >/dev/null && docker volume rm quota-trial-data >/dev/null
  mkdir -p "$scratch/data" && mv "$scratch/copy.db" "$scratch/data/quota.db"
  say "SQLite as ${user:-1000:1000}: read-only tree, backup, restore, verify"
done

docker compose run --rm --user "$(id -u):0" -v "$scratch/data:/trial" service \
  sh -c 'node dist/src/copy.js --from sqlite:/trial/quota.db --to "$DATABASE_URL"' 2>/dev/null | grep -q '^The copy is complete'
docker compose up -d --wait >/dev/null 2>&1 && [ "$(used)" = 10 ]
say 'compose: begins with the file of a trial'
sleep 60
[ "$(docker compose logs database --since 60s | grep -ci 'aborted connection')" = 0 ]
say 'compose: no aborted connection in an idle minute'
docker compose exec --index 1 service sh -c 'kill -USR2 1' && sleep 1
docker compose logs service | grep -q 'log level changed to debug'
crash && sleep 2 && ready
say 'compose: a signal by exec, then a crash: started again'
docker compose kill -s USR2 service >/dev/null 2>&1
crash && sleep 3 && [ "$(state)" = 'exited 137' ]
say 'compose: a signal by kill, then a crash: not started again, as documented'
docker compose up -d --wait >/dev/null 2>&1
SECONDS=0 && docker compose stop service >/dev/null 2>&1 && [ "$(state)" = 'exited 0' ] && [ "$SECONDS" -ge 12 ] && [ "$SECONDS" -lt 40 ]
say "compose: drained in $SECONDS s, exit code 0"
INSTANCES=2 docker compose up -d --wait >/dev/null 2>&1
consume 3 "$(docker compose port --index 1 service 3000 | cut -d: -f2)"
consume 4 "$(docker compose port --index 2 service 3000 | cut -d: -f2)"
say 'compose: INSTANCES=2 publishes a port for each'
docker compose exec -T database sh -c 'MYSQL_PWD=$MARIADB_PASSWORD exec mariadb-dump --user=quota --single-transaction --hex-blob quota' >"$scratch/quota.sql"
consume 5 "$(docker compose port --index 1 service 3000 | cut -d: -f2)" && docker compose stop service >/dev/null 2>&1
sh deploy/restore.sh "$scratch/quota.sql" quota docker compose exec -T database sh -c 'MYSQL_PWD=$MARIADB_ROOT_PASSWORD exec mariadb --user=root' >/dev/null
docker compose up -d --wait --scale service=1 >/dev/null 2>&1 && [ "$(used)" = 30 ]
docker compose run --rm service node dist/src/verify.js 2>/dev/null | grep -q ' 0 contradictions'
say 'compose: dump, restore, verify'
