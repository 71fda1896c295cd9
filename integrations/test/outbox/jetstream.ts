import type { Deliver } from '@ambit/outbox';
import type { JetStreamClient } from '@nats-io/jetstream';

/** The stream drops a message whose `Nats-Msg-Id` it had within its `duplicate_window`. */
export function toJetStream(client: JetStreamClient, prefix: string): Deliver {
  return ({ id, topic, payload }) => client.publish(`${prefix}.${topic}`, JSON.stringify(payload), { msgID: id });
}
