#!/usr/bin/env bash
# Makes sure that servers and Chromium are where the tests look for them, and that a folder has what its lock names:
#   tools/ensure.sh postgres mariadb redis chromium nats rabbitmq bench test/versions/express
# Meant for CI machines: as root, it installs Debian's packages, and starts throw-away servers that only this machine reaches, without a password.
set -euo pipefail

install() { # <program> <package>...
  command -v "$1" >/dev/null && return
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qqy "${@:2}" >/dev/null
}
postgres=(-h 127.0.0.1 -p 5432)

postgres_responds() { command -v pg_isready >/dev/null && pg_isready -q "${postgres[@]}"; }
postgres_start() {
  install pg_ctlcluster postgresql
  version=$(find /etc/postgresql -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -V | tail -n 1)
  sed -i -E 's/(scram-sha-256|md5|peer)$/trust/' "/etc/postgresql/$version/main/pg_hba.conf"
  pg_ctlcluster --skip-systemctl-redirect "$version" main restart
  until postgres_responds; do sleep 0.2; done
  psql "${postgres[@]}" -U postgres -tAc "SELECT 1 FROM pg_database WHERE datname = 'test'" | grep -q 1 ||
    createdb "${postgres[@]}" -U postgres test
}

mariadb_responds() { mariadb-admin --host 127.0.0.1 --user root --connect-timeout 2 ping >/dev/null 2>&1; }
mariadb_start() {
  install mariadbd mariadb-server
  service mariadb start >/dev/null 2>&1 || true
  mariadb_responds || mariadb --user root -e "ALTER USER root@localhost IDENTIFIED VIA mysql_native_password USING PASSWORD('')"
}

redis_responds() { command -v redis-cli >/dev/null && [[ $(redis-cli -h 127.0.0.1 -p 6379 ping 2>/dev/null) == PONG ]]; }
redis_start() {
  install redis-server redis-server
  redis_responds || redis-server --bind 127.0.0.1 --port 6379 --save '' --appendonly no --daemonize yes >/dev/null
}

# The first line that a server sends says whether it has JetStream. The package may have started one that has not.
nats_responds() { (exec 3<>/dev/tcp/127.0.0.1/4222 && read -r -t 2 line <&3 && [[ $line == *'"jetstream":true'* ]]) 2>/dev/null; }
nats_start() {
  install nats-server --no-install-recommends nats-server
  service nats-server stop >/dev/null 2>&1 || true
  folder=$(mktemp -d)
  nohup nats-server -a 127.0.0.1 -p 4222 -js -sd "$folder" -l "$folder/log" >/dev/null 2>&1 </dev/null &
}

# A server that is sent another protocol replies with the name of its own.
rabbitmq_responds() { (exec 3<>/dev/tcp/127.0.0.1/5672 && printf 'HELLO...' >&3 && read -r -t 2 -n 4 name <&3 && [[ $name == AMQP ]]) 2>/dev/null; }
rabbitmq_start() {
  install rabbitmq-server --no-install-recommends rabbitmq-server
  rabbitmq_responds || service rabbitmq-server start >/dev/null 2>&1 || true
}

chromium_responds() { [ -x /usr/bin/chromium-headless-shell ]; }
chromium_start() { install chromium-headless-shell --no-install-recommends chromium-headless-shell fonts-dejavu-core; }

locked() { # <folder>
  cmp --silent "$1/package-lock.json" "$1/node_modules/.installed-lock.json" && return
  npm ci --silent --prefix "$1" --ignore-scripts --no-audit --no-fund
  cp "$1/package-lock.json" "$1/node_modules/.installed-lock.json"
}

for name in "$@"; do
  if [ -d "$name" ]; then
    locked "$name"
    continue
  fi
  "${name}_responds" && continue
  "${name}_start"
  for _ in $(seq 300); do "${name}_responds" && continue 2; sleep 0.2; done
  echo "$name does not respond on 127.0.0.1" >&2
  exit 1
done
