import type { IncomingMessage } from 'node:http';
import { Problem } from './problem.js';

/** Beyond any order that the schema allows, in its usual spelling. */
const MOST_BYTES = 1_048_576;

/** The whole body, as it came; one that is too large is refused as soon as that is known. */
export function readBytes(req: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const refuse = (): void => reject(new Problem(413, 'The body is too large', { connection: 'close' }));
    const cut = (): void => reject(new Problem(400, 'The body did not arrive whole'));

    if (req.destroyed) cut();
    if (Number(req.headers['content-length']) > MOST_BYTES) refuse();
    // What is refused flows on into nothing: an answer is lost when its connection is closed over unread bytes.
    req.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= MOST_BYTES) chunks.push(chunk);
      else refuse();
    });
    req.on('end', () => resolve(Buffer.concat(chunks)));
    req.on('error', cut);
  });
}
