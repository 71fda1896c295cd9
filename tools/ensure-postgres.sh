#!/usr/bin/env bash
# Makes sure that PostgreSQL is where the tests look for it. Meant for CI machines: as root, it installs Debian's package.
set -euo pipefail

here=(-h 127.0.0.1 -p 5432)
command -v pg_isready >/dev/null && pg_isready -q "${here[@]}" && exit 0

if ! command -v pg_ctlcluster >/dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qqy postgresql >/dev/null
fi
version=$(find /etc/postgresql -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -V | tail -n 1)
# A throw-away server on this machine alone: nobody needs a password.
sed -i -E 's/(scram-sha-256|md5|peer)$/trust/' "/etc/postgresql/$version/main/pg_hba.conf"
pg_ctlcluster --skip-systemctl-redirect "$version" main restart
until pg_isready -q "${here[@]}"; do sleep 0.2; done
psql "${here[@]}" -U postgres -tAc "SELECT 1 FROM pg_database WHERE datname = 'test'" | grep -q 1 ||
  createdb "${here[@]}" -U postgres test
