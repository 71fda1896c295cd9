import type { IncomingMessage } from 'node:http';
import { Attempts } from './attempts.js';
import { same, Sessions } from './sessions.js';

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
