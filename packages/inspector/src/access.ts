import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const MOST = 10;
const WITHIN_MS = 60_000;
/** Addresses beyond this number replace the oldest ones. */
const ADDRESSES = 1000;

/** Wrong tokens by address, so that nobody can try many. */
class Attempts {
  readonly #wrong = new Map<string, { count: number; readonly until: number }>();

  wrong(address: string): void {
    const known = this.#current(address);
    if (known) {
      known.count++;
      return;
    }
    this.#wrong.delete(address);
    this.#wrong.set(address, { count: 1, until: Date.now() + WITHIN_MS });
    const [oldest = ''] = this.#wrong.keys();
    if (this.#wrong.size > ADDRESSES) this.#wrong.delete(oldest);
  }

  /** How long the address has to wait, in seconds; 0 where it need not. */
  waitOf(address: string): number {
    const known = this.#current(address);
    return known && known.count >= MOST ? Math.ceil((known.until - Date.now()) / 1000) : 0;
  }

  #current(address: string): { count: number; readonly until: number } | undefined {
    const known = this.#wrong.get(address);
    return known && known.until > Date.now() ? known : undefined;
  }
}

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

  isValid(session: string): boolean {
    const [until = '', proof = ''] = session.split('.');
    return same(proof, this.#proofOf(until)) && Number(until) > Date.now();
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

export type Access = 'granted' | 'refused' | 'token required' | 'too many wrong tokens';

const COOKIE = 'ambit_inspector';
const LOOPBACK = /^(?:::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/;
const THIS_MACHINE = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;
/** Behind a proxy every client has a loopback address. So these headers only ever deny access, and never grant it. */
const PROXY = /^(?:forwarded|via|x-forwarded(?:-.*)?|(?:.*-)?(?:client|connecting|real)-?ip)$/;

/** Who may open the page: clients on this machine, or clients that send the token. */
export class AccessControl {
  readonly #token: string | undefined;
  readonly #path: string;
  readonly #sessions: Sessions;
  readonly #attempts = new Attempts();

  constructor(token: string | undefined, path: string) {
    this.#token = token;
    this.#path = path;
    this.#sessions = new Sessions(token ?? '');
  }

  access(request: IncomingMessage): Access {
    if (isFromAnotherSite(request)) return 'refused';
    if (this.#token === undefined) return isLocal(request) ? 'granted' : 'refused';
    const session = cookieOf(request);
    if (session !== undefined && this.#sessions.isValid(session)) return 'granted';
    const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    return bearer === undefined ? 'token required' : this.try(request, bearer);
  }

  /** Whether the client has sent the token. One that has sent many wrong ones has to wait. */
  try(request: IncomingMessage, token: string): Exclude<Access, 'refused'> {
    const address = addressOf(request);
    if (this.waitOf(request) > 0) return 'too many wrong tokens';
    if (this.#token !== undefined && same(token, this.#token)) return 'granted';
    this.#attempts.wrong(address);
    return 'token required';
  }

  /** The seconds that the client has to wait before it may send another token. */
  waitOf(request: IncomingMessage): number {
    return this.#attempts.waitOf(addressOf(request));
  }

  /** A cookie that proves that the browser sent the token, without containing it; it stays valid after a restart. */
  cookie(request: IncomingMessage): string {
    const secure = 'encrypted' in request.socket ? '; Secure' : '';
    const { session, maxAgeSeconds } = this.#sessions.start();
    return `${COOKIE}=${session}; Path=${this.#path}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
  }
}

const addressOf = ({ socket }: IncomingMessage): string => socket.remoteAddress ?? '';

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
