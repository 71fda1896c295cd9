import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import { discard, JSON_TYPE } from '../../http/json-stream.js';

/** A stream is JSON already. Rejects where the stream fails; a client that leaves only ends it. */
export async function sendJson({ method }: Request, res: Response, body: unknown): Promise<void> {
  if (!(body instanceof Readable)) {
    res.json(body);
    return;
  }
  res.setHeader('content-type', JSON_TYPE);
  if (method === 'HEAD') {
    await discard(body);
    res.end();
    return;
  }
  await pipeline(body, res).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  });
}
