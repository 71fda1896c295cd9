import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.js';

/** Beyond any order that the schema allows, in its usual spelling. */
const MOST_BYTES = 1_048_576;
/** Who goes on for so long after the refusal is not going to read it. */
const MOST_IGNORED = 16 * MOST_BYTES;

/** The whole body, as it came; one that is too large is refused as soon as that is known. */
export function readBytes(req: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const announced = Number(req.headers['content-length'] ?? 0);
    const last = announced > MOST_IGNORED ? { connection: 'close' } : {};
    const refuse = (): void => reject(new Problem(413, 'The body is too large', last));
    const cut = (): void => reject(new Problem(400, 'The body did not arrive whole'));

    if (req.destroyed) cut();
    if (announced > MOST_BYTES) refuse();
    // What is refused flows on into nothing: an answer is lost when its connection is closed over unread bytes.
    req.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= MOST_BYTES) chunks.push(chunk);
      else refuse();
      if (length > MOST_IGNORED) req.destroy();
    });
    req.on('end', () => resolve(Buffer.concat(chunks)));
    req.on('error', cut);
  });
}
