import type { Readable } from 'node:stream';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** For HEAD: everything happens as for GET, but for the sending. */
export async function discard(stream: Readable): Promise<void> {
  for await (const _part of stream);
}
