#!/usr/bin/env bash
# Makes sure that NATS with JetStream is where the tests look for it. Meant for CI machines: as root, it installs Debian's package.
set -euo pipefail

# The first line that a server sends says whether it has JetStream.
responds() { (exec 3<>/dev/tcp/127.0.0.1/4222 && read -r -t 2 line <&3 && [[ $line == *'"jetstream":true'* ]]) 2>/dev/null; }
responds && exit 0

if ! command -v nats-server >/dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends nats-server >/dev/null
fi
# A throw-away server on this machine alone. The package may have started one, without JetStream.
service nats-server stop >/dev/null 2>&1 || true
folder=$(mktemp -d)
nohup nats-server -a 127.0.0.1 -p 4222 -js -sd "$folder" -l "$folder/log" >/dev/null 2>&1 </dev/null &
for _ in $(seq 50); do responds && exit 0; sleep 0.2; done
echo 'NATS with JetStream does not accept connections on 127.0.0.1:4222' >&2
exit 1
