import type { Deliver } from '@ambit/outbox';
import { Redis } from 'ioredis';

const REMEMBER_S = 86_400;
const WAIT_MS = 1000;
/**
 * In one step: the entry is added if its id is not known, and then the id is remembered, so that an entry that is refused is not
 * taken for known. A repetition writes, too: WAIT waits for what its own connection has written.
 */
const ADD_ONCE = `
  if redis.call('EXISTS', KEYS[2]) == 0 then
    redis.call('XADD', KEYS[1], '*', 'id', ARGV[2], 'topic', ARGV[3], 'payload', ARGV[4])
  end
  redis.call('SET', KEYS[2], '1', 'EX', ARGV[1])`;

/** A line that says nothing for 5 s, although a response is due, is dead. */
export const openRedis = (url: string): Redis => new Redis(url, { socketTimeout: 5000 });

/** Resolves when so many replicas have the entry, too. The braces keep the stream and the ids on one node of a cluster. */
export function toRedisStream(redis: Redis, name: string, replicas = 0): Deliver {
  return async ({ id, topic, payload }) => {
    // In one pipeline, which is not continued on another connection.
    const replies = await redis
      .pipeline()
      .eval(ADD_ONCE, 2, `{${name}}`, `{${name}}:${id}`, REMEMBER_S, id, topic, JSON.stringify(payload))
      .wait(replicas, WAIT_MS)
      .exec();
    for (const [error] of replies ?? []) if (error) throw error;
    const copies = Number(replies?.[1]?.[1] ?? 0);
    if (copies < replicas) throw new Error(`${copies} replicas have the event, not ${replicas}`);
  };
}
