#!/bin/sh
# Puts a dump of the service's database back, on MariaDB or MySQL:
#
#   sh deploy/restore.sh DUMP DATABASE CLIENT [ARGUMENT...]
#
# DUMP is what mariadb-dump or mysqldump wrote, DATABASE the name that DATABASE_URL has, and CLIENT a command that reads SQL, as one who may make databases:
# mariadb, mysql, docker compose exec -T database ..., and as root where another account made the views of the dump. It is started several times, so it
# must not ask for a password.
#
# Every instance is to be stopped: whoever has written a heartbeat within the last minute prevents it. The dump is loaded into DATABASE_restored; only
# when it is there as a whole do its tables take the place of those of DATABASE, in one statement, and those go to DATABASE_before. Whatever fails before
# that leaves DATABASE as it is. No table is dropped.
set -eu

die() {
  echo "restore: $*" >&2
  exit 1
}

[ $# -ge 3 ] || die 'usage: sh deploy/restore.sh DUMP DATABASE CLIENT [ARGUMENT...]'
dump=$1
database=$2
shift 2
restored=${database}_restored
before=${database}_before

case $database in
'' | *[!A-Za-z0-9_]*) die "a database is named by letters, digits and _ here, not $database" ;;
esac
[ -r "$dump" ] || die "$dump cannot be read"
tail -n 1 -- "$dump" | grep -q '^-- Dump completed' || die "$dump is not whole: its last line is not \"-- Dump completed\". Nothing was changed"
if grep -qE '^(USE |CREATE DATABASE )' "$dump"; then
  die "$dump names its database itself (--databases) and would be loaded over it: make it without. Nothing was changed"
fi
if grep -q '^SET @@GLOBAL.GTID_PURGED' "$dump"; then
  die "$dump was made without --set-gtid-purged=OFF, and no server that has run takes it. Nothing was changed. To take the lines out:
  awk '/^SET @@(GLOBAL.GTID_PURGED|SESSION.SQL_LOG_BIN)/ { skip = 1 } !skip; /;\$/ { skip = 0 }' '$dump' > '$dump.without-gtid'"
fi

said=$(mktemp)
trap 'rm -f "$said"' EXIT

# An instance would go on with what it knows of the tables before.
refuse_in_use() {
  "$@" >"$said" <<SQL || die "$database could not be read. $undone"
SELECT CONCAT('tables: ', COUNT(*)) FROM information_schema.tables WHERE table_schema = '$database' AND table_name = 'service_instance';
SQL
  grep -q 'tables: 1' "$said" || return 0
  "$@" >"$said" <<SQL || die "$database could not be read. $undone"
SELECT CONCAT('instance: ', name) FROM \`$database\`.service_instance
WHERE seen_at BETWEEN UTC_TIMESTAMP() - INTERVAL 60 SECOND AND UTC_TIMESTAMP() + INTERVAL 60 SECOND;
SQL
  if grep -q '^instance: ' "$said"; then
    die "$database is in use: $(sed -n 's/^instance: //p' "$said" | tr '\n' ',') stop that first; what was killed counts for a minute. $undone"
  fi
}
undone='Nothing was changed'
refuse_in_use "$@"

where="SELECT table_schema, COUNT(*) FROM information_schema.tables WHERE table_schema IN ('$database', '$restored', '$before') AND table_type = 'BASE TABLE' GROUP BY table_schema;"

# Where one of them is left from another time a statement fails, and no table has been touched yet.
"$@" <<SQL || die "$restored and $before must not be there, and CLIENT must be allowed to make them. $database is as it was; an empty $before may have been made.
  Tables in $before are what $database was before an earlier run, whose views may be in $restored. Look before you drop one: $where"
CREATE DATABASE \`$before\`;
CREATE DATABASE \`$restored\`;
CREATE DATABASE IF NOT EXISTS \`$database\` CHARACTER SET utf8mb4;
SQL

undone="$database is as it was. To try again: DROP DATABASE \`$restored\`; DROP DATABASE \`$before\`;"
{
  echo "USE \`$restored\`;"
  cat -- "$dump"
} | "$@" || die "$dump could not be loaded. $undone"

"$@" >"$said" <<SQL || die "what was loaded could not be read. $undone"
SELECT CONCAT('migrations: ', COUNT(*)) FROM \`$restored\`.schema_migration;
SQL
grep -q 'migrations: [1-9]' "$said" || die "$dump is no dump of this service: no migration has run in it. $undone"

# Whoever ran when the dump was made is not there.
echo "DELETE FROM \`$restored\`.service_instance;" | "$@" || die "the instances of the dump could not be removed. $undone"

# One statement for all tables, so that there is no moment in between.
"$@" >"$said" <<SQL || die "the tables could not be listed. $undone"
SET SESSION group_concat_max_len = 1000000;
SELECT CONCAT('RENAME TABLE ', GROUP_CONCAT('\`', table_schema, '\`.\`', table_name, '\` TO \`',
  CASE table_schema WHEN '$database' THEN '$before' ELSE '$database' END, '\`.\`', table_name, '\`'
  ORDER BY table_schema = '$restored' SEPARATOR ', '), ';') AS sql_text
FROM information_schema.tables WHERE table_schema IN ('$database', '$restored') AND table_type = 'BASE TABLE';
SQL
exchange=$(grep '^RENAME TABLE ' "$said") || die "the tables could not be listed. $undone"
refuse_in_use "$@"
printf '%s\n' "$exchange" | "$@" || {
  # The answer of a statement that took effect may have been lost.
  "$@" >"$said" <<SQL || die "it is not known whether the tables have changed places. Look before you drop a database: $where"
SELECT CONCAT('left: ', COUNT(*)) FROM information_schema.tables WHERE table_schema = '$restored' AND table_type = 'BASE TABLE';
SQL
  grep -q 'left: 0' "$said" || die "the tables could not change places. $undone"
}

# A view cannot change places: those of the dump are made again, over the tables in their new place.
"$@" >"$said" <<SQL || die "$database is restored, but for its views; they are in $restored"
SELECT CONCAT('DROP VIEW IF EXISTS \`$database\`.\`', table_name, '\`; CREATE SQL SECURITY INVOKER VIEW \`$database\`.\`', table_name, '\` AS ',
  REPLACE(view_definition, '\`$restored\`.', '\`$database\`.'), ';') AS sql_text
FROM information_schema.views WHERE table_schema = '$restored';
SQL
grep '^DROP VIEW ' "$said" | "$@" || die "$database is restored, but for its views; they are in $restored"

# All of its tables have gone to their place.
echo "DROP DATABASE \`$restored\`;" | "$@" || die "$database is restored; the empty $restored is left"
echo "restored: $database is as $dump says. What it was before is in $before; when you need it no more: DROP DATABASE \`$before\`;"
