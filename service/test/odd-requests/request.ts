/** A request as bytes, and the status that both hosts respond with. */
export type OddRequest = readonly [what: string, bytes: string | Buffer, status: number];

type Headers = Readonly<Record<string, string>>;

const JSON_TYPE: Headers = { 'content-type': 'application/json' };

/** The head of a request, with only the Host header added. */
export function head(method: string, path: string, headers: Headers = {}): string {
  const lines = Object.entries({ host: 'test', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** A request with only its Content-Length and the Host header added. */
export function withBody(method: string, path: string, body: string | Buffer, headers: Headers = JSON_TYPE): Buffer {
  const bytes = Buffer.from(body);
  return Buffer.concat([
    Buffer.from(head(method, path, { 'content-length': String(bytes.length), ...headers })),
    bytes,
  ]);
}

export function chunked(path: string, ...chunks: readonly (string | Buffer)[]): Buffer {
  const parts = chunks
    .map((chunk) => Buffer.from(chunk))
    .flatMap((chunk) => [Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]);
  const start = head('POST', path, { ...JSON_TYPE, 'transfer-encoding': 'chunked' });
  return Buffer.concat([Buffer.from(start), ...parts, Buffer.from('0\r\n\r\n')]);
}

export const postUser = (body: string | Buffer, headers?: Headers): Buffer =>
  withBody('POST', '/api/users', body, headers);
export const postOrder = (body: string | Buffer, headers?: Headers): Buffer =>
  withBody('POST', '/api/orders', body, headers);

export const ADA = '{"name":"Ada","email":"ada@example.org"}';
export const APPLE = '{"items":[{"productId":"apple","quantity":1}]}';
