import { ADA, head, type OddRequest } from './request.js';

const START = 'POST /api/users HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\n';
const LENGTH = `content-length: ${ADA.length}\r\n`;
const CHUNKED = 'transfer-encoding: chunked\r\n';
const get = (version: string): string => `GET /api/users ${version}\r\nhost: test\r\n\r\n`;

/** Requests that are barely HTTP, or not at all. */
export const PROTOCOL: readonly OddRequest[] = [
  ['a bad request line', 'HELLO\r\n\r\n', 400],
  ['a request line without version', 'GET /api/users\r\n\r\n', 200],
  ['a request line of spaces', '   \r\n\r\n', 400],
  ['a space in the address', head('GET', '/api/users/a b'), 400],
  ['NUL in the address', head('GET', '/api/users/\0'), 400],
  ['a greeting of TLS', Buffer.from('16030100a5010000a10303', 'hex'), 400],
  ['a greeting of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  ['HTTP/1.0', get('HTTP/1.0'), 200],
  ['HTTP/1.0 without a host', 'GET /api/users HTTP/1.0\r\n\r\n', 200],
  ['HTTP/1.2', get('HTTP/1.2'), 400],
  ['HTTP/2.0', get('HTTP/2.0'), 200],
  ['HTTP/0.9', get('HTTP/0.9'), 200],
  ['no host', 'GET /api/users HTTP/1.1\r\n\r\n', 400],
  ['no host where there is nothing', 'GET /nowhere HTTP/1.1\r\n\r\n', 400],
  ['line breaks before the request', `\r\n\r\n${get('HTTP/1.1')}`, 200],
  ['lines that end in LF', 'GET /api/users HTTP/1.1\nhost: test\n\n', 400],
  ['a header without colon', 'GET /api/users HTTP/1.1\r\nhost: test\r\nhello\r\n\r\n', 400],
  ['a header with a space in its name', 'GET /api/users HTTP/1.1\r\nhost: test\r\na b: c\r\n\r\n', 400],
  ['a header with a space before the colon', 'GET /api/users HTTP/1.1\r\nhost: test\r\na : c\r\n\r\n', 400],
  ['a header with NUL', 'GET /api/users HTTP/1.1\r\nhost: test\r\na: \0\r\n\r\n', 400],
  ['a header in two lines', 'GET /api/users HTTP/1.1\r\nhost: test\r\na: b\r\n c\r\n\r\n', 400],
  ['a header of 20,000 characters', head('GET', '/api/users', { a: 'x'.repeat(20_000) }), 431],
  ['a header of 15,000 characters', head('GET', '/api/users', { a: 'x'.repeat(15_000) }), 200],
  ['two lengths', `${START}${LENGTH}${LENGTH}\r\n${ADA}`, 400],
  ['two lengths that differ', `${START}${LENGTH}content-length: 1\r\n\r\n${ADA}`, 400],
  ['a negative length', `${START}content-length: -1\r\n\r\n`, 400],
  ['a length that is no number', `${START}content-length: many\r\n\r\n`, 400],
  ['a length in hexadecimal', `${START}content-length: 0x10\r\n\r\n`, 400],
  ['a length of 30 digits', `${START}content-length: ${'9'.repeat(30)}\r\n\r\n`, 400],
  ['a length and chunks', `${START}${LENGTH}${CHUNKED}\r\n0\r\n\r\n`, 400],
  ['an unknown transfer encoding', `${START}transfer-encoding: gzip\r\n\r\n`, 400],
  ['chunks before another encoding', `${START}transfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n`, 400],
  ['chunks twice', `${START}${CHUNKED}${CHUNKED}\r\n0\r\n\r\n`, 400],
  ['a chunk whose size is no number', `${START}${CHUNKED}\r\nxyz\r\n`, 400],
  ['a negative chunk', `${START}${CHUNKED}\r\n-1\r\n`, 400],
  ['a chunk beyond all measure', `${START}${CHUNKED}\r\nfffffffffffffffff\r\n`, 400],
  ['a chunk longer than it says', `${START}${CHUNKED}\r\n2\r\n{"name"\r\n0\r\n\r\n`, 400],
  ['a chunk with an extension', `${START}${CHUNKED}\r\n${ADA.length.toString(16)};a=b\r\n${ADA}\r\n0\r\n\r\n`, 201],
  [
    'a line feed within the extension of a chunk',
    `${START}${CHUNKED}\r\n${ADA.length.toString(16)};a\n${ADA}\r\n0\r\n\r\n`,
    400,
  ],
  ['a chunk whose size ends in LF', `${START}${CHUNKED}\r\n${ADA.length.toString(16)}\n${ADA}\n0\n\n`, 400],
  [
    'a coding before chunks',
    `${START}transfer-encoding: gzip, chunked\r\n\r\n${ADA.length.toString(16)}\r\n${ADA}\r\n0\r\n\r\n`,
    415,
  ],
  [
    'a length after the body',
    `${START}${CHUNKED}\r\n${ADA.length.toString(16)}\r\n${ADA}\r\n0\r\ncontent-length: 9\r\n\r\n`,
    400,
  ],
  ['trailers', `${START}${CHUNKED}\r\n${ADA.length.toString(16)}\r\n${ADA}\r\n0\r\na: b\r\n\r\n`, 201],
  ['a bad trailer', `${START}${CHUNKED}\r\n${ADA.length.toString(16)}\r\n${ADA}\r\n0\r\na b\r\n\r\n`, 400],
];
