import type { Deliver } from '@ambit/outbox';
import type { ConfirmChannel, Message } from 'amqplib';

/** Resolves when RabbitMQ has confirmed the message. One that no queue takes is confirmed, too, so it is asked back. */
export function toRabbitMq(channel: ConfirmChannel, exchange: string): Deliver {
  const returned = new Set<unknown>();
  channel.on('return', ({ properties }: Message) => returned.add(properties.messageId));
  return ({ id, topic, payload }) =>
    new Promise<void>((resolve, reject) => {
      const options = {
        messageId: id,
        type: topic,
        contentType: 'application/json',
        persistent: true,
        mandatory: true,
      };
      channel.publish(exchange, topic, Buffer.from(JSON.stringify(payload)), options, (error: Error | null) => {
        // RabbitMQ returns a message before it confirms it.
        if (returned.delete(id)) reject(new Error(`No queue is bound for ${topic}`));
        else if (error) reject(error);
        else resolve();
      });
    });
}
