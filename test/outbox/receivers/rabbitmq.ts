import type { Deliver } from '@ambit/outbox';
import { type ChannelModel, type ConfirmChannel, connect, type Message } from 'amqplib';

/** The heartbeat finds a line that is dead within 10 s. */
export async function openRabbitMq(url: string): Promise<ChannelModel> {
  const connection = await connect(`${url}?heartbeat=5`, { timeout: 5000 });
  return connection.on('error', () => undefined); // it is closed then, and opened again
}

/** On disk, and on most nodes of a cluster, before a message is confirmed. Where its length is limited it refuses what is new. */
export async function declareQueue(channel: ConfirmChannel, exchange: string, queue: string, topics: string) {
  await channel.assertExchange(exchange, 'topic', { durable: true });
  const settings = { 'x-queue-type': 'quorum', 'x-overflow': 'reject-publish' };
  await channel.assertQueue(queue, { durable: true, arguments: settings });
  await channel.bindQueue(queue, exchange, topics);
}

/** Resolves when RabbitMQ has confirmed the message. One that no queue takes is confirmed, too, so it is asked back. */
export function toRabbitMq(open: () => Promise<ChannelModel>, exchange: string): Deliver {
  const returned = new Set<unknown>();
  let current: Promise<ConfirmChannel> | undefined;
  let published = 0;

  async function reopen(): Promise<ConfirmChannel> {
    const connection = await open();
    const channel = await connection.createConfirmChannel();
    channel.on('error', () => undefined);
    channel.on('return', ({ properties }: Message) => returned.add(properties.correlationId));
    return channel.on('close', () => {
      current = undefined;
      void connection.close().catch(() => undefined);
    });
  }

  return async ({ id, topic, payload }) => {
    current ??= reopen().catch((error: unknown) => {
      current = undefined;
      throw error;
    });
    const channel = await current;
    // An event whose first attempt took too long may be on its way twice, so each attempt has an id of its own.
    const correlationId = String((published += 1));
    const options = { messageId: id, correlationId, type: topic, persistent: true, mandatory: true };
    await new Promise<void>((resolve, reject) => {
      channel.publish(exchange, topic, Buffer.from(JSON.stringify(payload)), options, (error: Error | null) => {
        // RabbitMQ returns a message before it confirms it.
        if (returned.delete(correlationId)) reject(new Error(`No queue is bound for ${topic}`));
        else if (error) reject(error);
        else resolve();
      });
    });
  };
}
