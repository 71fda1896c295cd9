import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const MOST = 10;
const WITHIN_MS = 60_000;
/** Sources beyond this number replace the oldest ones. */
const SOURCES = 1000;

/**
 * Wrong tokens by source. A source that sends many is refused and reported, and yet never kept from sending the right one: behind a
 * proxy all clients are one source, and any of them could lock out the owner.
 */
class WrongTokens {
  readonly #sent = new Map<string, { count: number; readonly until: number }>();

  /** Counts one more. Returns the seconds until its source counts from zero again; 0 where it has not sent too many. */
  add(source: string): number {
    const now = Date.now();
    const known = this.#sent.get(source);
    const current = known && known.until > now ? known : this.#begin(source, now);
    current.count++;
    if (current.count <= MOST) return 0;
    if (current.count === MOST + 1) warn(source);
    return Math.ceil((current.until - now) / 1000);
  }

  #begin(source: string, now: number): { count: number; readonly until: number } {
    const begun = { count: 0, until: now + WITHIN_MS };
    this.#sent.delete(source);
    this.#sent.set(source, begun);
    const [oldest = ''] = this.#sent.keys();
    if (this.#sent.size > SOURCES) this.#sent.delete(oldest);
    return begun;
  }
}

function warn(source: string): void {
  process.emitWarning(`Somebody guesses the token of the inspector: more than ${MOST} wrong ones came from ${source}`, {
    type: 'InspectorWarning',
  });
}

/** The address of the client, without its second half where it is of IPv6: a client has as many of those as it likes. */
function sourceOf({ socket }: IncomingMessage): string {
  const address = socket.remoteAddress ?? '';
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  const [start, end] = address.split('::');
  const [first, last] = [groupsOf(start), groupsOf(end)];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return `${[...first, ...zeros, ...last].slice(0, 4).join(':')}::/64`;
}

const groupsOf = (part = ''): string[] => part.split(':').filter((group) => group !== '');

/** A working day; then the browser asks for the token again. */
const LASTS_MS = 8 * 60 * 60 * 1000;

/** The session of a browser that has sent the token: when it is over, and a proof. It contains no token, and survives a restart. */
export class Sessions {
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  /** The value of a cookie, and how long it is valid. */
  start(): { readonly session: string; readonly maxAgeSeconds: number } {
    const until = String(Date.now() + LASTS_MS);
    return { session: `${until}.${this.#proofOf(until)}`, maxAgeSeconds: LASTS_MS / 1000 };
  }

  /** When it is over; undefined where it is over already, or was never begun. */
  endOf(session: string): number | undefined {
    const [until = '', proof = ''] = session.split('.');
    return same(proof, this.#proofOf(until)) && Number(until) > Date.now() ? Number(until) : undefined;
  }

  #proofOf(until: string): string {
    return createHmac('sha256', this.#token).update(`ambit inspector session until ${until}`).digest('hex');
  }
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
  readonly path: string;
}

/** After too many wrong tokens, the seconds until they count from zero again. */
export type Access = 'granted' | 'refused' | 'token required' | { readonly retryAfter: number };

const COOKIE = 'ambit_inspector';
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
  readonly #path: string;
  readonly #sessions: Sessions;
  readonly #wrong = new WrongTokens();

  constructor({ token, isDevelopment, path }: AccessOptions) {
    this.#token = token;
    this.#isDevelopment = isDevelopment;
    this.#path = path;
    this.#sessions = new Sessions(token ?? '');
  }

  access(request: IncomingMessage): Access {
    if (isFromAnotherSite(request)) return 'refused';
    if (this.#token === undefined) return this.#isDevelopment && isLocal(request) ? 'granted' : 'refused';
    if (this.endOf(request) !== undefined) return 'granted';
    const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    return bearer === undefined ? 'token required' : this.try(request, bearer);
  }

  /** When the session of the browser is over; undefined for a client without one. */
  endOf(request: IncomingMessage): number | undefined {
    const session = this.#token === undefined ? undefined : cookieOf(request);
    return session === undefined ? undefined : this.#sessions.endOf(session);
  }

  /** Whether the client has sent the token. */
  try(request: IncomingMessage, token: string): Exclude<Access, 'refused'> {
    if (this.#token !== undefined && same(token, this.#token)) return 'granted';
    const retryAfter = this.#wrong.add(sourceOf(request));
    return retryAfter > 0 ? { retryAfter } : 'token required';
  }

  /** A cookie that proves that the browser sent the token, without containing it; it stays valid after a restart. */
  cookie(request: IncomingMessage): string {
    const secure = 'encrypted' in request.socket ? '; Secure' : '';
    const { session, maxAgeSeconds } = this.#sessions.start();
    return `${COOKIE}=${session}; Path=${this.#path}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
  }
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

function cookieOf({ headers }: IncomingMessage): string | undefined {
  const cookies = (headers.cookie ?? '').split(';').map((cookie) => cookie.trim());
  return cookies.find((cookie) => cookie.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1);
}
