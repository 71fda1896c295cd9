#!/usr/bin/env bash
# Makes sure that RabbitMQ is where the tests look for it. Meant for CI machines: as root, it installs Debian's package.
set -euo pipefail

# A server that is sent another protocol replies with the name of its own.
responds() { (exec 3<>/dev/tcp/127.0.0.1/5672 && printf 'HELLO...' >&3 && read -r -t 2 -n 4 name <&3 && [[ $name == AMQP ]]) 2>/dev/null; }
responds && exit 0

if ! command -v rabbitmq-server >/dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends rabbitmq-server >/dev/null
fi
responds || service rabbitmq-server start >/dev/null 2>&1 || true
for _ in $(seq 300); do responds && exit 0; sleep 0.2; done
echo 'RabbitMQ does not accept connections on 127.0.0.1:5672' >&2
exit 1
