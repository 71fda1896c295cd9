import { gzipSync } from 'node:zlib';
import { ADA, chunked, head, type OddRequest, postOrder, postUser } from './request.js';

const typed = (type: string): Buffer => postUser(ADA, { 'content-type': type });
const encoded = (encoding: string, body: string | Buffer = ADA): Buffer =>
  postUser(body, { 'content-type': 'application/json', 'content-encoding': encoding });

const MOST = 1_048_576;

/** Requests with unusual media types and framing. */
export const MEDIA_TYPES: readonly OddRequest[] = [
  ['application/json', typed('application/json'), 201],
  ['a type in capitals', typed('APPLICATION/JSON'), 201],
  ['charset=utf-8', typed('application/json; charset=utf-8'), 201],
  ['charset="UTF-8"', typed('application/json;charset="UTF-8"'), 201],
  ['a semicolon and nothing behind', typed('application/json;'), 201],
  ['charset=utf-16', typed('application/json; charset=utf-16'), 415],
  ['charset=iso-8859-1', typed('application/json; charset=iso-8859-1'), 415],
  ['charset with garbage', typed('application/json; charset="'), 415],
  ['another parameter', typed('application/json; version=1'), 415],
  ['no content type', postUser(ADA, {}), 415],
  ['an empty content type', typed(''), 415],
  ['text/plain', typed('text/plain'), 415],
  ['a form', typed('application/x-www-form-urlencoded'), 415],
  ['multipart', typed('multipart/form-data; boundary=x'), 415],
  ['a type that begins alike', typed('application/jsonx'), 415],
  ['a type of the JSON family', typed('application/vnd.api+json'), 415],
  ['no type at all', typed('json'), 415],
  ['two types', typed('application/json, text/plain'), 415],
  ['gzip', encoded('gzip', gzipSync(ADA)), 415],
  ['gzip in name only', encoded('gzip'), 415],
  ['deflate', encoded('deflate'), 415],
  ['an unknown encoding', encoded('rot13'), 415],
  ['identity', encoded('identity'), 201],
  ['Identity', encoded('Identity'), 201],
  ['no body, and its length', postUser(''), 400],
  ['no body, no type, and its length', postUser('', {}), 400],
  ['no body, and no length', head('POST', '/api/users', { 'content-type': 'application/json' }), 400],
  ['no body for an order', postOrder(''), 400],
  ['no body, but an encoding', encoded('gzip', ''), 400],
  ['white space only', postUser(' \r\n\t'), 400],
  ['one chunk', chunked('/api/users', ADA), 201],
  ['no chunk', chunked('/api/users'), 400],
  ['one chunk for each byte', chunked('/api/users', ...ADA.split('')), 201],
  ['a character in two chunks', chunked('/api/users', ADA.slice(0, 9), '\xc3', '\xa9', ADA.slice(9)), 201],
  ['as much as there may be', postUser(ADA.padEnd(MOST)), 201],
  ['one byte more', postUser(ADA.padEnd(MOST + 1)), 413],
  ['eight times as much', postUser(ADA.padEnd(8 * MOST)), 413],
  ['one byte more, in chunks', chunked('/api/users', ADA.padEnd(MOST), ' '), 413],
  ['twenty times as much, in chunks', chunked('/api/users', ADA.padEnd(20 * MOST)), 413],
  ['a length beyond all measure', head('POST', '/api/users', { 'content-length': '9999999999' }), 413],
  ['too much of what is no JSON', postUser('x'.repeat(MOST + 1), { 'content-type': 'text/plain' }), 413],
];
