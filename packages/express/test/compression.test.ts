import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Request, RequestHandler, Response } from 'express';
import { describe, expect, it } from 'vitest';
import { withTransaction } from '../src/index.js';
import { application, expectAllEnded, serve, store } from './support/app.js';
import { compression } from './support/compression.js';

const ROWS = Array.from({ length: 5 }, (_, row) => `${row},${'x'.repeat(1000)}\n`);
/** Beyond what compressors and sockets take without a pause. */
const MANY_ROWS = Array.from({ length: 5000 }, (_, row) => `${row},${Math.random()},${'x'.repeat(100)}\n`);
const README = fileURLToPath(new URL('../README.md', import.meta.url));

/** Writes on whenever it may, and listens for that from the start. */
function writeInTurn(rows: readonly string[]) {
  return (res: Response): void => {
    const left = [...rows];
    const go = (): void => {
      while (left.length > 0) if (!res.write(left.shift())) return;
      res.end();
    };
    res.on('drain', go);
    go();
  };
}

const bodies: readonly [name: string, respond: (res: Response, req: Request) => unknown, text: string | undefined][] = [
  ['a stream', (res) => Readable.from(ROWS).pipe(res), ROWS.join('')],
  ['a long stream', (res) => Readable.from(MANY_ROWS).pipe(res), MANY_ROWS.join('')],
  ['a file', (res) => res.sendFile(README), undefined],
  ['what is written in turn', writeInTurn(ROWS), ROWS.join('')],
  ['much that is written in turn', writeInTurn(MANY_ROWS), MANY_ROWS.join('')],
  ['what is written at once', (res) => [...ROWS.map((row) => res.write(row)), res.end()], ROWS.join('')],
  ['json', (res) => res.json(ROWS), JSON.stringify(ROWS)],
];

const ways: readonly [where: string, handlers: RequestHandler[], encoding: string | null][] = [
  ['before it', [compression(), withTransaction()], 'gzip'],
  ['behind it', [withTransaction(), compression()], 'gzip'],
  ['before it, and does not apply', [compression({ applies: false }), withTransaction()], null],
  ['behind it, and does not apply', [withTransaction(), compression({ applies: false })], null],
];

describe.each(ways)('when compression is mounted %s', (_where, handlers, encoding) => {
  it.each(bodies)('%s arrives whole, and once', async (_name, respond, text) => {
    const { app, pool, container } = application();
    app.post('/', handlers, async (req: Request, res: Response) => {
      await store(req, 'order');
      respond(res, req);
    });
    const { post, close } = await serve(app);
    const response = await post('/');
    expect([response.status, response.headers.get('content-encoding')]).toEqual([200, encoding]);
    const received = await response.text();
    if (text !== undefined) expect(received === text).toBe(true);
    await close();
    await expectAllEnded({ container, pool });
    expect(pool.stored).toEqual(['order']);
  });
});
