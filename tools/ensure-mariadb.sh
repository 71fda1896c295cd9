#!/usr/bin/env bash
# Makes sure that MariaDB is where the tests look for it. Meant for CI machines: as root, it installs Debian's package.
set -euo pipefail

is_ready() { mariadb-admin --host 127.0.0.1 --user root --connect-timeout 2 ping >/dev/null 2>&1; }
is_ready && exit 0

if ! command -v mariadbd >/dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qqy mariadb-server >/dev/null
fi
service mariadb start >/dev/null 2>&1 || true
# A throw-away server on this machine alone: nobody needs a password.
is_ready || mariadb --user root -e "ALTER USER root@localhost IDENTIFIED VIA mysql_native_password USING PASSWORD('')"
for _ in $(seq 150); do is_ready && exit 0; sleep 0.2; done
echo 'MariaDB does not accept connections on 127.0.0.1:3306' >&2
exit 1
