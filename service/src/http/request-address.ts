import type { IncomingMessage, Server } from 'node:http';
import { Problem } from '../problem.js';

const SERVER = /^https?:\/\/[^/?]+/i;
const ESCAPE = /%[2-7][\da-f]/gi;
const UNRESERVED = /[\w.~-]/;

/**
 * From now on the listeners of the server are given a path, perhaps with a query, and nothing else: whatever more a
 * request line may hold, each framework reads in a way of its own.
 */
export function simplifyTargets(server: Server): void {
  const simplify = (req: IncomingMessage): void => {
    req.url = plainTarget(req.url ?? '');
  };
  server.prependListener('request', simplify);
  server.prependListener('checkExpectation', simplify);
}

function plainTarget(target: string): string {
  if (target.startsWith('/') && !target.includes('#')) return target;
  const [sent = ''] = target.split('#', 1);
  const address = sent.replace(SERVER, '');
  // `*`, and what is on servers of other protocols, is no path of ours, and so becomes one that leads nowhere.
  return address.startsWith('/') ? address : `/${address}`;
}

/** Without the query. */
export function pathOf(target: string): string {
  const end = target.indexOf('?');
  return end === -1 ? target : target.slice(0, end);
}

/** The same path, with nothing in percent that can stand for itself: `/%75sers` is `/users`. */
export function plainPath(path: string): string {
  return path.replaceAll(ESCAPE, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return UNRESERVED.test(character) ? character : escape;
  });
}

/** What Node would refuse by itself, in an answer without a body. */
export function refuseWithoutHost({ headers, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1') throw new Problem(400, 'The request is malformed');
}
