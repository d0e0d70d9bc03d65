#!/bin/sh
# Keeps a dump of each day of the service's database, on MariaDB or MySQL; for a timer:
#
#   sh deploy/backup.sh FOLDER DAYS DUMPER [ARGUMENT...]
#
# DUMPER is a command that prints a dump, as docs/run/backup-and-upgrade.md says under "Backups". A dump is written to FOLDER/quota-DATE.sql once it is whole, readable
# for its owner alone; one of the same day is replaced. Only then are those removed that are older than DAYS days.
set -eu
umask 077

die() {
  echo "backup: $*" >&2
  exit 1
}

[ $# -ge 3 ] || die 'usage: sh deploy/backup.sh FOLDER DAYS DUMPER [ARGUMENT...]'
folder=$1
days=$2
shift 2
case $days in
'' | *[!0-9]*) die "DAYS is a number, not $days" ;;
esac
[ -d "$folder" ] || die "$folder is no folder"

dump=$folder/quota-$(date +%F).sql
trap 'rm -f "$dump.part"' EXIT
# A shell need not do that at a signal.
trap 'exit 1' HUP INT TERM
"$@" >"$dump.part" || die "$1 failed. The dumps in $folder are as they were"
tail -n 1 -- "$dump.part" | grep -q '^-- Dump completed' || die "the dump of $1 is not whole. The dumps in $folder are as they were"
grep -q '^CREATE TABLE .schema_migration.' -- "$dump.part" || die "the dump of $1 is of another database. The dumps in $folder are as they were"
mv -- "$dump.part" "$dump"
# Of a dump whose shell was killed, a part is left. The slash: FOLDER may be a symbolic link.
find "$folder/" \( -name 'quota-????-??-??.sql' -o -name 'quota-????-??-??.sql.part' \) -mtime "+$days" -exec rm -f {} +
echo "backup: $dump"
