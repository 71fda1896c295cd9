import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.js';

const ESCAPE = /%[2-7][\da-f]/gi;
const UNRESERVED = /[\w.~-]/;

/** The same address, with nothing in percent that can stand for itself: `/%75sers` is `/users`. */
export function plainAddress(url: string): string {
  return url.replaceAll(ESCAPE, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return UNRESERVED.test(character) ? character : escape;
  });
}

/** Without the query. */
export function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

/** What Node would refuse by itself, in an answer without a body. */
export function refuseWithoutHost({ headers, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1') throw new Problem(400, 'The request is malformed');
}
