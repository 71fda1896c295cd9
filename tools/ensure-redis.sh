#!/usr/bin/env bash
# Makes sure that Redis is where the tests look for it. Meant for CI machines: as root, it installs Debian's package.
set -euo pipefail

responds() { command -v redis-cli >/dev/null && [[ $(redis-cli -h 127.0.0.1 -p 6379 ping 2>/dev/null) == PONG ]]; }
responds && exit 0

if ! command -v redis-server >/dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qqy redis-server >/dev/null
fi
# A throw-away server on this machine alone: nothing is written to disk. The package may have started one.
responds || redis-server --bind 127.0.0.1 --port 6379 --save '' --appendonly no --daemonize yes >/dev/null
until responds; do sleep 0.2; done
