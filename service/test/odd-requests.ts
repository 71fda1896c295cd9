import { gzipSync } from 'node:zlib';

/** A request as bytes, and the status that both hosts respond with. */
export type OddRequest = readonly [what: string, bytes: string | Buffer, status: number];

type Headers = Readonly<Record<string, string>>;

const JSON_TYPE: Headers = { 'content-type': 'application/json' };

/** The head of a request, with only the Host header added. */
function head(method: string, path: string, headers: Headers = {}): string {
  const lines = Object.entries({ host: 'test', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** A request with only its Content-Length and the Host header added. */
function withBody(method: string, path: string, body: string | Buffer, headers: Headers = JSON_TYPE): Buffer {
  const bytes = Buffer.from(body);
  return Buffer.concat([
    Buffer.from(head(method, path, { 'content-length': String(bytes.length), ...headers })),
    bytes,
  ]);
}

function chunked(path: string, ...chunks: readonly (string | Buffer)[]): Buffer {
  const parts = chunks
    .map((chunk) => Buffer.from(chunk))
    .flatMap((chunk) => [Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]);
  const start = head('POST', path, { ...JSON_TYPE, 'transfer-encoding': 'chunked' });
  return Buffer.concat([Buffer.from(start), ...parts, Buffer.from('0\r\n\r\n')]);
}

export const postUser = (body: string | Buffer, headers?: Headers): Buffer =>
  withBody('POST', '/api/users', body, headers);
const postOrder = (body: string | Buffer, headers?: Headers): Buffer => withBody('POST', '/api/orders', body, headers);

export const ADA = '{"name":"Ada","email":"ada@example.org"}';
export const APPLE = '{"items":[{"productId":"apple","quantity":1}]}';

const get = (path: string): string => head('GET', path);
const ID = '0190a0b0-0000-7000-8000-000000000000';

/** Requests with unusual addresses. */
export const ADDRESSES: readonly OddRequest[] = [
  ['/', get('/'), 404],
  ['/api', get('/api'), 404],
  ['the simplified path', get('/users'), 404],
  ['something below a user', get(`/api/users/${ID}/orders`), 404],
  ['a slash behind the collection', get('/api/users/'), 200],
  ['a slash behind a user', get(`/api/users/${ID}/`), 404],
  ['a slash behind orders', withBody('POST', '/api/orders/', APPLE), 201],
  ['two slashes behind', get('/api/users//'), 404],
  ['capitals', get('/API/USERS'), 404],
  ['dots', get('/api/x/../users'), 404],
  ['a slash in percent', get('/api/users/a%2Fb'), 404],
  ['a slash in percent instead of a slash', get('/api%2Fusers'), 404],
  ['%ff as id', get('/api/users/%ff'), 400],
  ['bytes beyond ASCII', Buffer.from(get('/api/users/\xe9'), 'latin1'), 400],
  ['an id of 9,999 characters', get(`/api/users/${'x'.repeat(9999)}`), 404],
  ['an id of 17,000 characters', get(`/api/users/${'x'.repeat(17_000)}`), 431],
  ['HEAD of the list', head('HEAD', '/api/users'), 200],
  ['HEAD of nobody', head('HEAD', `/api/users/${ID}`), 404],
  ['HEAD of orders', head('HEAD', '/api/orders'), 405],
  ['OPTIONS', head('OPTIONS', '/api/users'), 405],
  ['OPTIONS with a bad body', withBody('OPTIONS', '/api/users', '{'), 400],
  ['POST to a user', withBody('POST', `/api/users/${ID}`, ADA), 405],
  ['PUT', withBody('PUT', `/api/users/${ID}`, ADA), 405],
  ['DELETE', head('DELETE', `/api/users/${ID}`), 405],
  ['DELETE with a body', withBody('DELETE', `/api/users/${ID}`, ADA), 405],
  ['DELETE with a bad body', withBody('DELETE', `/api/users/${ID}`, '{'), 400],
  ['GET with a body', withBody('GET', '/api/users', ADA), 200],
  ['GET with a bad body', withBody('GET', '/api/users', '{', { 'content-type': 'text/plain' }), 200],
  ['TRACE', head('TRACE', '/api/users'), 405],
  ['PROPFIND', head('PROPFIND', '/api/users'), 405],
  ['QUERY with a body', withBody('QUERY', '/api/users', ADA), 405],
  ['a method in small letters', head('get', '/api/users'), 400],
  ['a method that is none', head('FETCH', '/api/users'), 400],
];

const DEEP = 500_000;
const lists = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const deep = lists(DEEP);
const numbered = (count: number): string => Array.from({ length: count }, (_, index) => `"p${index}":1`).join(',');
const ada = (properties: string): string => ADA.replace('}', `,${properties}}`);
const named = (name: string): Buffer => postUser(ADA.replace('"Ada"', name));
const times = (quantity: string): Buffer => postOrder(APPLE.replace('1}', `${quantity}}`));
/** With these bytes in the middle of the name. */
const bytes = (...inside: readonly number[]): Buffer =>
  postUser(Buffer.concat([Buffer.from(ADA.slice(0, 10)), Buffer.from(inside), Buffer.from(ADA.slice(10))]));

/** Requests with unusual bodies. */
export const BODIES: readonly OddRequest[] = [
  ['bad JSON', postUser('{"name":'), 400],
  ['JSON with something behind', postUser(`${ADA}x`), 400],
  ['a comment', postUser(`/* Ada */${ADA}`), 400],
  ['a list', postUser(`[${ADA}]`), 400],
  ['null', postUser('null'), 400],
  ['500,000 open brackets', postUser('['.repeat(DEEP)), 400],
  ['500,000 lists in each other', postUser(deep), 400],
  ['the same as an unknown property', postUser(ada(`"x":${deep}`)), 400],
  ['32 levels', postUser(ada(`"x":${lists(31)}`)), 201],
  ['33 levels', postUser(ada(`"x":${lists(32)}`)), 400],
  ['brackets in text', postUser(ada(`"x":"${'['.repeat(20_000)}\\"${'{,'.repeat(20_000)}"`)), 201],
  ['__proto__ as a value', named('"__proto__"'), 201],
  ['a property twice: the last one counts', postUser(`{"name":1,${ADA.slice(1)}`), 201],
  ['both halves', named('"\\ud83d\\ude00"'), 201],
  ['NUL as it is', bytes(0), 400],
  ['a byte that is never UTF-8', bytes(0xff), 400],
  ['a byte order mark', postUser(`\uFEFF${ADA}`), 201],
  ['UTF-16', postUser(Buffer.from(`\uFEFF${ADA}`, 'utf16le')), 400],
  ['a quantity of 1 and a bit too small to see', times('1.00000000000000000001'), 201],
  ['a quantity of 1e400', times('1e400'), 400],
  ['a quantity of a million digits', times('1'.repeat(1_000_000)), 400],
  ['a name of a million characters', named(`"${'x'.repeat(1_000_000)}"`), 400],
  ['10,000 values', postUser(ada(numbered(9997))), 201],
  ['10,001 values', postUser(ada(numbered(9998))), 400],
  ['100,000 items', postOrder(`{"items":[${Array<string>(100_000).fill('1').join(',')}]}`), 400],
  ['bad JSON where there is nothing', withBody('POST', '/nowhere', '{'), 400],
];

const search = (query: string): string => head('GET', `/api/users?${query}`);
const having = (...lines: readonly string[]): string =>
  `GET /api/users HTTP/1.1\r\nhost: test\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;

const withKeys = (...keys: readonly string[]): string =>
  `POST /api/orders HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ncontent-length: ${APPLE.length}\r\n` +
  `${keys.map((key) => `idempotency-key: ${key}\r\n`).join('')}\r\n${APPLE}`;

/** Requests with unusual queries and headers. */
export const HEADERS: readonly OddRequest[] = [
  ['an empty query', search(''), 200],
  ['?limit twice', search('limit=1&limit=2'), 400],
  ['?limit[]', search('limit[]=1'), 200],
  ['?limit in percent', search('%6cimit=0'), 400],
  ['bad escapes in another parameter', search('x=%ff&y=%&%zz'), 200],
  ['?__proto__', search('__proto__=1&__proto__[limit]=0'), 200],
  ['?limit behind 2,000 parameters', search(`${Array<string>(2000).fill('a=1').join('&')}&limit=0`), 400],
  ['a query where there is nothing', head('GET', '/nowhere?limit=0'), 404],
  ['If-None-Match: there are no entity tags', having('if-none-match: *'), 200],
  ['Range', having('range: bytes=0-0'), 200],
  ['Accept-Encoding', having('accept-encoding: gzip, br'), 200],
  ['Upgrade', having('connection: upgrade', 'upgrade: websocket'), 200],
  ['400 headers', having(...Array<string>(400).fill('a: 1')), 200],
  ['one key', withKeys('one-key-alone'), 201],
  ['two keys', withKeys('a', 'b'), 400],
  ['a bad key and a bad order', postOrder('{}', { ...JSON_TYPE, 'idempotency-key': '' }), 400],
  ['Expect: 100-continue', postUser(ADA, { ...JSON_TYPE, expect: '100-continue' }), 201],
  ['Expect: 100-continue for a bad body', postUser('{', { ...JSON_TYPE, expect: '100-continue' }), 400],
  ['Expect: 100-continue where there is nothing', head('GET', '/nowhere', { expect: '100-continue' }), 404],
  ['Expect: something else', postUser(ADA, { ...JSON_TYPE, expect: 'applause' }), 417],
];

const typed = (type: string): Buffer => postUser(ADA, { 'content-type': type });
const encoded = (encoding: string, body: string | Buffer = ADA): Buffer =>
  postUser(body, { 'content-type': 'application/json', 'content-encoding': encoding });

const MOST = 1_048_576;

/** Requests with unusual media types and framing. */
export const MEDIA_TYPES: readonly OddRequest[] = [
  ['application/json', typed('application/json'), 201],
  ['charset=utf-8', typed('application/json; charset=utf-8'), 201],
  ['charset="UTF-8"', typed('application/json;charset="UTF-8"'), 201],
  ['charset=utf-16', typed('application/json; charset=utf-16'), 415],
  ['another parameter', typed('application/json; version=1'), 415],
  ['no content type', postUser(ADA, {}), 415],
  ['text/plain', typed('text/plain'), 415],
  ['gzip', encoded('gzip', gzipSync(ADA)), 415],
  ['identity', encoded('identity'), 201],
  ['no body, and its length', postUser(''), 400],
  ['no body, and no length', head('POST', '/api/users', { 'content-type': 'application/json' }), 400],
  ['white space only', postUser(' \r\n\t'), 400],
  ['one chunk', chunked('/api/users', ADA), 201],
  ['one chunk for each byte', chunked('/api/users', ...ADA.split('')), 201],
  ['a character in two chunks', chunked('/api/users', ADA.slice(0, 9), '\xc3', '\xa9', ADA.slice(9)), 201],
  ['as much as there may be', postUser(ADA.padEnd(MOST)), 201],
  ['one byte more', postUser(ADA.padEnd(MOST + 1)), 413],
  ['one byte more, in chunks', chunked('/api/users', ADA.padEnd(MOST), ' '), 413],
  ['twenty times as much, in chunks', chunked('/api/users', ADA.padEnd(20 * MOST)), 413],
  ['a length beyond all measure', head('POST', '/api/users', { 'content-length': '9999999999' }), 413],
  ['too much of what is no JSON', postUser('x'.repeat(MOST + 1), { 'content-type': 'text/plain' }), 413],
];

const START = 'POST /api/users HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\n';
const LENGTH = `content-length: ${ADA.length}\r\n`;
const CHUNKED = 'transfer-encoding: chunked\r\n';
const getBy = (version: string): string => `GET /api/users ${version}\r\nhost: test\r\n\r\n`;

/** Requests that are barely HTTP, or not at all. */
export const PROTOCOL: readonly OddRequest[] = [
  ['a bad request line', 'HELLO\r\n\r\n', 400],
  ['a request line without version', 'GET /api/users\r\n\r\n', 200],
  ['a space in the address', head('GET', '/api/users/a b'), 400],
  ['a greeting of TLS', Buffer.from('16030100a5010000a10303', 'hex'), 400],
  ['HTTP/1.0', getBy('HTTP/1.0'), 200],
  ['HTTP/1.0 without a host', 'GET /api/users HTTP/1.0\r\n\r\n', 200],
  ['no host', 'GET /api/users HTTP/1.1\r\n\r\n', 400],
  ['line breaks before the request', `\r\n\r\n${getBy('HTTP/1.1')}`, 200],
  ['lines that end in LF', 'GET /api/users HTTP/1.1\nhost: test\n\n', 400],
  ['a header without colon', 'GET /api/users HTTP/1.1\r\nhost: test\r\nhello\r\n\r\n', 400],
  ['a header in two lines', 'GET /api/users HTTP/1.1\r\nhost: test\r\na: b\r\n c\r\n\r\n', 400],
  ['a header with NUL', 'GET /api/users HTTP/1.1\r\nhost: test\r\na: \0\r\n\r\n', 400],
  ['a header of 20,000 characters', head('GET', '/api/users', { a: 'x'.repeat(20_000) }), 431],
  ['two lengths', `${START}${LENGTH}${LENGTH}\r\n${ADA}`, 400],
  ['a length that is no number', `${START}content-length: many\r\n\r\n`, 400],
  ['a length and chunks', `${START}${LENGTH}${CHUNKED}\r\n0\r\n\r\n`, 400],
  ['an unknown transfer encoding', `${START}transfer-encoding: gzip\r\n\r\n`, 400],
  ['a chunk whose size is no number', `${START}${CHUNKED}\r\nxyz\r\n`, 400],
  ['a chunk longer than it says', `${START}${CHUNKED}\r\n2\r\n{"name"\r\n0\r\n\r\n`, 400],
  ['a chunk with an extension', `${START}${CHUNKED}\r\n${ADA.length.toString(16)};a=b\r\n${ADA}\r\n0\r\n\r\n`, 201],
  ['a chunk whose size ends in LF', `${START}${CHUNKED}\r\n${ADA.length.toString(16)}\n${ADA}\n0\n\n`, 400],
  [
    'a line feed in the extension of a chunk',
    `${START}${CHUNKED}\r\n${ADA.length.toString(16)};a\n${ADA}\r\n0\r\n\r\n`,
    400,
  ],
  [
    'a coding before chunks',
    `${START}transfer-encoding: gzip, chunked\r\n\r\n${ADA.length.toString(16)}\r\n${ADA}\r\n0\r\n\r\n`,
    415,
  ],
  ['trailers', `${START}${CHUNKED}\r\n${ADA.length.toString(16)}\r\n${ADA}\r\n0\r\na: b\r\n\r\n`, 201],
];
