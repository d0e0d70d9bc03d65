#!/usr/bin/env bash
# `bash scripts/try-containers.sh`: builds both images, compares their packages with the lists of them, runs the service
# alone and by compose.yaml on a Docker engine, with the connector in front, and checks what docs/run/operations.md,
# docs/start/production.md and connectors/mail/README.md say. It takes the ports 3000 to 3009, 10040 and 10041, uses
# names of its own, and removes what it made, except the images. It ends with the first line that is not as documented.
# An engine whose containers have no default network needs NETWORK, the name of one.
#
# Each check is a line of its own: in a list with &&, bash goes on after a failure, unless it is the last command's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export COMPOSE_PROJECT_NAME=quota-trial COMPOSE_ENV_FILES
network=${NETWORK:+--network $NETWORK}
scratch=$(mktemp -d)
COMPOSE_ENV_FILES="$scratch/env"
cleanup() {
  docker rm --force --volumes quota-trial quota-trial-postfix >/dev/null 2>&1 || true
  docker compose down --volumes --timeout 20 >/dev/null 2>&1 || true
  docker volume rm quota-trial-data quota-trial-state >/dev/null 2>&1 || true
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
healthy() { for _ in $(seq 120); do [ "$(docker inspect -f '{{.State.Health.Status}}' "$1")" = healthy ] && return; sleep 0.5; done; return 1; }
# shellcheck disable=SC2086
packages() {
  docker run --rm $network "$1" node -p '
    fs.globSync("node_modules/**/package.json").filter((file) => /(^|\/)node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(file))
      .map((file) => JSON.parse(fs.readFileSync(file, "utf8"))).map(({ name, version }) => `${name}@${version}`).join("\n")'
}
state() { docker inspect -f '{{.State.Status}} {{.State.ExitCode}}' "${1:-quota-trial-service-1}"; }

docker build ${NETWORK:+--network host} --build-arg COMMIT="$(git rev-parse HEAD)" -t quota-service . >"$scratch/build"
[ "$(docker inspect -f '{{index .Config.Labels "org.opencontainers.image.revision"}}' quota-service)" = "$(git rev-parse HEAD)" ]
docker build ${NETWORK:+--network host} -t quota-postfix -f connectors/mail/Dockerfile . >"$scratch/build"
npm run --silent sbom -- "$scratch/sbom" >/dev/null
packages quota-service | node scripts/compare-image.mjs '' "$scratch/sbom"
packages quota-postfix | node scripts/compare-image.mjs connectors/mail
say 'images: their packages are those of the lists'
# shellcheck disable=SC2086
docker run --rm $network quota-service node dist/src/token.js --name trial --role admin >"$scratch/token"
# shellcheck disable=SC2086
docker run --rm $network quota-service node dist/src/token.js --name postfix --role usage --scope mail >>"$scratch/token"
token=$(grep -o 'qs_admin_[A-Za-z0-9_-]*' "$scratch/token")
entry=$(grep -o '\(trial:admin\|postfix:usage+mail\):[0-9a-f]*' "$scratch/token" | paste -sd,)
sed "s|^AUTH_TOKENS=.*|AUTH_TOKENS=$entry|; s|^\(MARIADB[A-Z_]*PASSWORD\)=.*|\1=$(openssl rand -hex 24)|" .env.example >"$scratch/env"
grep -q "^AUTH_TOKENS=$entry" "$scratch/env"
say 'images: built, labelled, make tokens'

docker compose --profile sign-in config -q
QUOTA_TOKEN=x docker compose -f examples/postfix/compose.yaml config -q
say 'compose: both files fit its schema'

for user in '' '12345:0'; do
  # shellcheck disable=SC2086
  docker run -d --name quota-trial $network ${user:+--user $user} --init --restart unless-stopped --stop-timeout 40 \
    -p 127.0.0.1:3000:3000 --memory 512m --pids-limit 200 --read-only --tmpfs /tmp --cap-drop ALL \
    --security-opt no-new-privileges -v quota-trial-data:/app/data -e DATABASE_URL=sqlite:/app/data/quota.db \
    -e AUTH_TOKENS="$entry" quota-service >/dev/null
  ready
  create
  consume 1
  healthy quota-trial
  [ "$(docker exec quota-trial id -u)" = "$(echo "${user:-1000}" | cut -d: -f1)" ]
  docker exec quota-trial node dist/src/backup.js data/copy.db >/dev/null
  docker cp -q quota-trial:/app/data/copy.db "$scratch/copy.db"
  docker exec quota-trial rm data/copy.db
  consume 2
  docker stop quota-trial >/dev/null
  [ "$(state quota-trial)" = 'exited 0' ]
  # shellcheck disable=SC2086
  docker run -i --rm $network --volumes-from quota-trial --user "$(docker inspect -f '{{.Config.User}}' quota-trial)" quota-service \
    sh -c 'b=data/before-$(date +%s) && mkdir "$b" && mv data/quota.db* "$b" && cat > data/quota.db' <"$scratch/copy.db"
  docker start quota-trial >/dev/null
  ready
  [ "$(used)" = 10 ]
  docker exec quota-trial node dist/src/verify.js | grep -q ' 0 contradictions'
  docker rm --force quota-trial >/dev/null
  docker volume rm quota-trial-data >/dev/null
  mkdir -p "$scratch/data"
  mv "$scratch/copy.db" "$scratch/data/quota.db"
  say "SQLite as ${user:-1000:1000}: 512 MB, read-only tree, healthy, backup, restore, verify"
done

# `copy` refuses while instances were running within the last minute.
sleep 60
docker compose run --rm --user "$(id -u):0" -v "$scratch/data:/trial" service \
  sh -c 'node dist/src/copy.js --from sqlite:/trial/quota.db --to "$DATABASE_URL"' 2>/dev/null | grep -q '^The copy is complete'
docker compose up -d --wait >/dev/null 2>&1
[ "$(used)" = 10 ]
say 'compose: begins with the file of a trial'
sleep 60
[ "$(docker compose logs database --since 60s | grep -ci 'aborted connection')" = 0 ]
say 'compose: no aborted connection in an idle minute'
docker compose exec --index 1 service sh -c 'kill -USR2 1'
sleep 1
[ "$(docker compose logs service | grep -c 'log level changed to debug')" = 1 ]
crash
sleep 2
ready
say 'compose: a signal by exec, then a crash: started again'
docker compose kill -s USR2 service >/dev/null 2>&1
crash
sleep 3
[ "$(state)" = 'exited 137' ]
say 'compose: a signal by kill, then a crash: not started again, as documented'
docker compose up -d --wait >/dev/null 2>&1
SECONDS=0
docker compose stop service >/dev/null 2>&1
[ "$(state)" = 'exited 0' ]
[ "$SECONDS" -ge 12 ]
[ "$SECONDS" -lt 40 ]
say "compose: drained in $SECONDS s, exit code 0"
INSTANCES=2 docker compose up -d --wait >/dev/null 2>&1
consume 3 "$(docker compose port --index 1 service 3000 | cut -d: -f2)"
consume 4 "$(docker compose port --index 2 service 3000 | cut -d: -f2)"
say 'compose: INSTANCES=2 publishes a port for each'
docker compose exec -T database sh -c 'MYSQL_PWD=$MARIADB_PASSWORD exec mariadb-dump --user=quota --single-transaction --hex-blob quota' >"$scratch/quota.sql"
consume 5 "$(docker compose port --index 1 service 3000 | cut -d: -f2)"
docker compose stop service >/dev/null 2>&1
# So does `restore.sh`, and what crashed above counts for a minute.
sleep 60
sh deploy/restore.sh "$scratch/quota.sql" quota docker compose exec -T database sh -c 'MYSQL_PWD=$MARIADB_ROOT_PASSWORD exec mariadb --user=root' >/dev/null
docker compose up -d --wait --scale service=1 >/dev/null 2>&1
[ "$(used)" = 30 ]
docker compose run --rm service node dist/src/verify.js 2>/dev/null | grep -q ' 0 contradictions'
say 'compose: dump, restore, verify'

mkdir -m 755 "$scratch/quota"
echo 'ann@example.org 7' >"$scratch/quota/accounts"
grep -o 'qs_usage_[A-Za-z0-9_-]*' "$scratch/token" >"$scratch/quota/token"
docker run -d --name quota-trial-postfix --network "${COMPOSE_PROJECT_NAME}_default" --init --restart unless-stopped --stop-timeout 15 \
  -p 127.0.0.1:10040:10040 -p 127.0.0.1:10041:10041 --memory 256m --read-only --cap-drop ALL --security-opt no-new-privileges \
  -v "$scratch/quota:/etc/quota:ro" -v quota-trial-state:/var/lib/quota-postfix -e QUOTA_URL=http://service:3000 \
  -e QUOTA_TOKEN_FILE=/etc/quota/token -e ACCOUNTS_FILE=/etc/quota/accounts quota-postfix >/dev/null
healthy quota-trial-postfix
curl -sf http://127.0.0.1:10041/health/ready >/dev/null
[ "$(docker exec quota-trial-postfix id -u)" = 1000 ]
exec 3<>/dev/tcp/127.0.0.1/10040
printf '%s\n' request=smtpd_access_policy protocol_state=END-OF-MESSAGE queue_id=4F9D195432C instance=1a2b.6a0b1c2d.e3f4.0 \
  sender=ann@example.org sasl_username=ann@example.org recipient_count=2 size=1234 '' >&3
read -r -t 10 answer <&3
[ "$answer" = 'action=DUNNO' ]
exec 3>&-
[ "$(used)" = 32 ]
docker stop quota-trial-postfix >/dev/null
[ "$(state quota-trial-postfix)" = 'exited 0' ]
say 'connector: read-only tree, healthy, charges a message, ends with exit code 0'
