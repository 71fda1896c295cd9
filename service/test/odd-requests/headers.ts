import { ADA, APPLE, head, type OddRequest, postOrder, postUser } from './request.js';

const get = (query: string): string => head('GET', `/api/users?${query}`);
const having = (...lines: readonly string[]): string =>
  `GET /api/users HTTP/1.1\r\nhost: test\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
const TYPE = { 'content-type': 'application/json' };
const ID = '0190a0b0-0000-7000-8000-000000000000';

const withKeys = (...keys: readonly string[]): string =>
  `POST /api/orders HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ncontent-length: ${APPLE.length}\r\n` +
  `${keys.map((key) => `idempotency-key: ${key}\r\n`).join('')}\r\n${APPLE}`;

/** Requests with unusual queries and headers. */
export const HEADERS: readonly OddRequest[] = [
  ['an empty query', get(''), 200],
  ['separators only', get('&&&='), 200],
  ['?limit', get('limit'), 400],
  ['?limit=', get('limit='), 400],
  ['?limit twice', get('limit=1&limit=2'), 400],
  ['?limit twice alike', get('limit=1&limit=1'), 400],
  ['?limit[]', get('limit[]=1'), 200],
  ['?limit[a]', get('limit[a]=1'), 200],
  ['?LIMIT', get('LIMIT=0'), 200],
  ['?limit in percent', get('%6cimit=0'), 400],
  ['?limit=%31', get('limit=%31'), 200],
  ['?limit=%ff', get('limit=%ff'), 400],
  ['?limit=%', get('limit=%'), 400],
  ['?limit in percent within percent', get('limit=%%331'), 400],
  ['?limit with a space', get('limit=+1'), 400],
  ['?limit with another behind a semicolon', get('limit=1;limit=2'), 400],
  ['?limit behind a second question mark', get('a=1?limit=0'), 200],
  ['?after with a NUL', get('after=%00'), 400],
  ['?after twice', get(`after=${ID}&after=${ID}`), 400],
  ['?after in braces', get(`after={${ID}}`), 400],
  ['bad escapes in another parameter', get('x=%ff&y=%&%zz'), 200],
  ['?__proto__', get('__proto__=1&__proto__[limit]=0'), 200],
  ['?constructor', get('constructor=1&toString=2&hasOwnProperty=3'), 200],
  ['2,000 parameters', get(Array<string>(2000).fill('a=1').join('&')), 200],
  ['?limit behind 2,000 parameters', get(`${Array<string>(2000).fill('a=1').join('&')}&limit=0`), 400],
  ['a query where there is nothing', head('GET', '/nowhere?limit=0'), 404],
  ['a query behind an id', head('GET', `/api/users/${ID}?limit=0`), 404],
  ['If-None-Match: there are no entity tags', having('if-none-match: *'), 200],
  ['If-Modified-Since', having('if-modified-since: Fri, 01 Jan 2100 00:00:00 GMT'), 200],
  ['Range', having('range: bytes=0-0'), 200],
  ['Accept', having('accept: text/html'), 200],
  ['Accept-Encoding', having('accept-encoding: gzip, br'), 200],
  ['X-HTTP-Method-Override', having('x-http-method-override: DELETE'), 200],
  ['X-Forwarded-For', having('x-forwarded-for: 1.2.3.4', 'x-forwarded-proto: https'), 200],
  ['Cookie with garbage', having('cookie: =;;a=%ff; __proto__=1'), 200],
  ['Authorization with garbage', having('authorization: Basic !!!'), 200],
  ['Origin', having('origin: https://example.org'), 200],
  ['Upgrade', having('connection: upgrade', 'upgrade: websocket'), 200],
  ['Upgrade to HTTP/2', having('connection: upgrade, http2-settings', 'upgrade: h2c', 'http2-settings: AAMAAABk'), 200],
  ['Connection: close', having('connection: close'), 200],
  ['two hosts', having('host: other'), 400],
  ['the same host twice', having('Host: test'), 400],
  ['400 headers', having(...Array<string>(400).fill('a: 1')), 200],
  ['one key', withKeys('one-key-alone'), 201],
  ['two keys', withKeys('a', 'b'), 400],
  ['the same key twice', withKeys('a', 'a'), 400],
  ['an empty key', withKeys(''), 400],
  ['a key with a space', withKeys('a b'), 400],
  ['a bad key and a bad order', postOrder('{}', { ...TYPE, 'idempotency-key': '' }), 400],
  ['a bad key and a bad user', postUser('{}', { ...TYPE, 'idempotency-key': '' }), 400],
  ['a bad key for a user', postUser(ADA, { ...TYPE, 'idempotency-key': 'x'.repeat(256) }), 400],
  ['Expect: 100-continue', postUser(ADA, { ...TYPE, expect: '100-continue' }), 201],
  ['Expect: 100-continue for a bad body', postUser('{', { ...TYPE, expect: '100-continue' }), 400],
  ['Expect: 100-continue where there is nothing', head('GET', '/nowhere', { expect: '100-continue' }), 404],
  ['Expect: something else', postUser(ADA, { ...TYPE, expect: 'applause' }), 417],
];
