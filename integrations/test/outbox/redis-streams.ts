import type { Deliver } from '@ambit/outbox';
import type { Redis } from 'ioredis';

const REMEMBER_S = 86_400;
/** In one step: the id is remembered, and the entry is added if it was not known. */
const ADD_ONCE = `
  if redis.call('SET', KEYS[2], '1', 'NX', 'EX', ARGV[1]) then
    redis.call('XADD', KEYS[1], '*', 'id', ARGV[2], 'topic', ARGV[3], 'payload', ARGV[4])
  end`;

/** The braces keep the stream and the ids on one node of a cluster. */
export function toRedisStream(redis: Redis, name: string): Deliver {
  return ({ id, topic, payload }) =>
    redis.eval(ADD_ONCE, 2, `{${name}}`, `{${name}}:${id}`, REMEMBER_S, id, topic, JSON.stringify(payload));
}
