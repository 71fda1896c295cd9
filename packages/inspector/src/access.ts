import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const MOST = 10;
const WITHIN_MS = 60_000;

/**
 * Wrong tokens, whatever their source. After too many within a minute further ones are refused and reported, and yet the right one is never
 * refused: behind a proxy all clients are one source, and any of them could lock out the owner.
 */
class WrongTokens {
  #count = 0;
  #until = 0;

  /** Counts one more. Returns the seconds until they are counted from zero again; 0 where there were not too many. */
  add({ socket }: IncomingMessage): number {
    const now = Date.now();
    if (now >= this.#until) [this.#count, this.#until] = [0, now + WITHIN_MS];
    this.#count++;
    if (this.#count <= MOST) return 0;
    if (this.#count === MOST + 1) warn(socket.remoteAddress);
    return Math.ceil((this.#until - now) / 1000);
  }
}

function warn(source = 'somewhere'): void {
  const times = `more than ${MOST} wrong ones within a minute, the last one from ${source}`;
  process.emitWarning(`Somebody guesses the token of the inspector: ${times}`, { type: 'InspectorWarning' });
}

/** Compares in constant time. */
function same(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

export interface AccessOptions {
  readonly token: string | undefined;
  /** True if clients on this machine need no token. */
  readonly isDevelopment: boolean;
}

/** After too many wrong tokens, the seconds until they count from zero again. */
export type Access = 'granted' | 'refused' | 'token required' | { readonly retryAfter: number };

const LOOPBACK = /^(?:::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/;
const THIS_MACHINE = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;
/**
 * Every client behind a proxy has a loopback address, and nginx and HAProxy send none of these headers unless they are configured to. So without a
 * token the page is for development only, where these headers may still deny access, and never grant it.
 */
const PROXY = /^(?:forwarded|via|x-forwarded(?:-.*)?|(?:.*-)?(?:client|connecting|real)-?ip)$/;

/** Decides who may open the page: clients that send the token, or, without one, clients on a machine for development. */
export class AccessControl {
  readonly #token: string | undefined;
  readonly #isDevelopment: boolean;
  readonly #wrong = new WrongTokens();

  constructor({ token, isDevelopment }: AccessOptions) {
    this.#token = token;
    this.#isDevelopment = isDevelopment;
  }

  access(request: IncomingMessage): Access {
    if (isFromAnotherSite(request)) return 'refused';
    if (this.#token === undefined) return this.#isDevelopment && isLocal(request) ? 'granted' : 'refused';
    const token = tokenOf(request);
    if (token === undefined) return 'token required';
    if (same(token, this.#token)) return 'granted';
    const retryAfter = this.#wrong.add(request);
    return retryAfter > 0 ? { retryAfter } : 'token required';
  }
}

/** Agents and the terminal send it as a bearer token, browsers as the password that they ask for, with any name. */
function tokenOf({ headers: { authorization = '' } }: IncomingMessage): string | undefined {
  const bearer = /^Bearer (.+)$/i.exec(authorization)?.[1];
  const basic = /^Basic ([\w+/=]+)$/i.exec(authorization)?.[1];
  return bearer ?? (basic && /^[^:]*:(.+)$/.exec(Buffer.from(basic, 'base64').toString())?.[1]);
}

/** The host name is checked too: another site's name may resolve to this machine (DNS rebinding). */
function isLocal({ socket, headers }: IncomingMessage): boolean {
  const host = headers.host ?? headers[':authority'];
  return (
    LOOPBACK.test(socket.remoteAddress ?? '') &&
    typeof host === 'string' &&
    THIS_MACHINE.test(host) &&
    !Object.keys(headers).some((name) => PROXY.test(name))
  );
}

/** Following a link is allowed: the other site cannot read the page that it opens. */
function isFromAnotherSite({ headers, method }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  return method !== 'GET' || headers['sec-fetch-mode'] !== 'navigate' || headers['sec-fetch-dest'] !== 'document';
}
