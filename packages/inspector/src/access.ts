import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export type Access = 'granted' | 'refused' | 'token wanted';

const COOKIE = 'ambit_inspector';
const LOOPBACK = /^(?:::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/;
const THIS_MACHINE = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;
/** A proxy in front makes every client look like this machine. Such headers take trust away, and never give any. */
const PROXY = /^(?:forwarded|via|x-forwarded(?:-.*)?|(?:.*-)?(?:client|connecting|real)-?ip)$/;

/** Who may look: this machine, or whoever has the token. */
export class Doorkeeper {
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
    return session !== undefined && same(session, sessionFor(this.#token)) ? 'granted' : 'token wanted';
  }

  accepts(token: string): boolean {
    return this.#token !== undefined && same(token, this.#token);
  }

  /** Says that the browser knew the token, without saying the token; the same after a restart. */
  cookie(request: IncomingMessage): string {
    const secure = 'encrypted' in request.socket ? '; Secure' : '';
    const session = sessionFor(this.#token ?? '');
    return `${COOKIE}=${session}; Path=${this.#path}; HttpOnly; SameSite=Strict${secure}`;
  }
}

/** Also by name: a site of somebody else may have its name lead to this machine. */
function isLocal({ socket, headers }: IncomingMessage): boolean {
  const host = headers.host ?? headers[':authority'];
  return (
    LOOPBACK.test(socket.remoteAddress ?? '') &&
    typeof host === 'string' &&
    THIS_MACHINE.test(host) &&
    !Object.keys(headers).some((name) => PROXY.test(name))
  );
}

/** Following a link is allowed, since a page that is shown tells the other site nothing. */
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

/** Takes equally long wherever they differ. */
function same(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
