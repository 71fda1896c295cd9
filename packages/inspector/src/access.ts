import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Settings } from './options.js';

/** Compares in constant time. */
function same(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

const LOOPBACK = /^(?:::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/;
const THIS_MACHINE = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;
/**
 * Every client behind a proxy has a loopback address, and nginx and HAProxy send none of these headers unless they are configured to. So without a
 * token the page is for development only, where these headers may still deny access, and never grant it.
 */
const PROXY = /^(?:forwarded|via|x-forwarded(?:-.*)?|(?:.*-)?(?:client|connecting|real)-?ip)$/;

/** Decides who may open the page: clients that send the token, or, without one, clients on a machine for development. */
export function accessOf(
  request: IncomingMessage,
  { token, isDevelopment }: Pick<Settings, 'isDevelopment' | 'token'>,
) {
  if (isFromAnotherSite(request)) return 'refused';
  if (token === undefined) return isDevelopment && isLocal(request) ? 'granted' : 'refused';
  const sent = tokenOf(request);
  return sent !== undefined && same(sent, token) ? 'granted' : 'token required';
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
