import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import type { RequestText } from '@ambit/testing/tools';

/** In every response of a handler that has a body, and in no error. */
export const ROW = 'a row of the transaction\n';

/** More than Node keeps for a client that does not read. */
export const MANY_ROWS = ROW.repeat(8000);

/** They come while the response waits for COMMIT, and afterwards. */
export async function* rowsInTime(): AsyncGenerator<string> {
  for (let i = 0; i < 4; i += 1) {
    yield ROW;
    await after(2);
  }
}

/** A stream of them comes faster than it is sent. */
export const BLOCKS_OF_ROWS: readonly string[] = Array.from({ length: 20 }, () => ROW.repeat(400));

export const ACCEPTS_GZIP = { headers: { 'accept-encoding': 'gzip' } };

const BOUNDARY = 'boundary';
export const UPLOAD: Omit<RequestText, 'path'> = {
  method: 'POST',
  headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  body: [
    `--${BOUNDARY}`,
    'content-disposition: form-data; name="file"; filename="a.txt"',
    '',
    'content',
    `--${BOUNDARY}--`,
    '',
  ].join('\r\n'),
};

/** What can be asked of a middleware that serves files. */
export const FILE_REQUESTS: readonly RequestText[] = [
  { path: '/file.txt' },
  { path: '/large.txt' },
  { path: '/file.txt', method: 'HEAD' },
  { path: '/file.txt', headers: { range: 'bytes=2-5' } },
  { path: '/file.txt', headers: { 'if-none-match': '*' } },
];

/** The files that these requests name. */
export function makeFiles(): { readonly folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  writeFileSync(join(folder, 'file.txt'), ROW);
  writeFileSync(join(folder, 'large.txt'), MANY_ROWS);
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}

/** All that the handlers respond to, and what a response may leave out. */
export const requestsTo = (handlers: object): RequestText[] => [
  ...Object.keys(handlers).map((path) => ({ path })),
  { path: '/json', method: 'HEAD' },
  { path: '/json', headers: { 'if-none-match': '*' } },
];
