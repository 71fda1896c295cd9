import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export type Access = 'granted' | 'refused' | 'token required';

const COOKIE = 'ambit_inspector';
const LOOPBACK = /^(?:::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/;
const THIS_MACHINE = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;
/** Behind a proxy every client has a loopback address. So these headers only ever deny access, and never grant it. */
const PROXY = /^(?:forwarded|via|x-forwarded(?:-.*)?|(?:.*-)?(?:client|connecting|real)-?ip)$/;

/** Who may open the page: clients on this machine, or clients that send the token. */
export class AccessControl {
  readonly #token: string | undefined;
  readonly #path: string;

  constructor(token: string | undefined, path: string) {
    this.#token = token;
    this.#path = path;
  }

  access(request: IncomingMessage): Access {
    if (isFromAnotherSite(request)) return 'refused';
    if (this.#token === undefined) return isLocal(request) ? 'granted' : 'refused';
    const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (bearer !== undefined && this.accepts(bearer)) return 'granted';
    const session = cookieOf(request);
    return session !== undefined && same(session, sessionFor(this.#token)) ? 'granted' : 'token required';
  }

  accepts(token: string): boolean {
    return this.#token !== undefined && same(token, this.#token);
  }

  /** A cookie that proves that the browser sent the token, without containing it; it stays valid after a restart. */
  cookie(request: IncomingMessage): string {
    const secure = 'encrypted' in request.socket ? '; Secure' : '';
    const session = sessionFor(this.#token ?? '');
    return `${COOKIE}=${session}; Path=${this.#path}; HttpOnly; SameSite=Strict${secure}`;
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

function sessionFor(token: string): string {
  return createHmac('sha256', token).update('ambit inspector session').digest('hex');
}

/** Compares in constant time. */
function same(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
