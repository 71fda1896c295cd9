import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { accessOf } from './access.js';
import { handleMcp } from './mcp.js';
import type { Settings } from './options.js';
import { type Call, jsonOf } from './tools.js';
import type { State } from './wire.js';
import { PACKAGE } from './where.js';

const TYPES: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The changes since a version of the recording that the page shows. */
type Changes = (boot: string | null, since: number) => State | undefined;

const HEADERS = {
  'content-security-policy': "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

const REFUSED =
  'Without a token the inspector responds only where NODE_ENV is development, to clients on this machine: open it as localhost, without a proxy in between. For all else, set the option `token`.';
/** Without the message of the error: it may come from a predicate of the application, and contain values. */
const FAILED = 'The inspector failed. The message of the error is not shown, because it may contain values.';

/** Handles every request below the path of the inspector: its page, what has changed on it, and each tool by its name. */
export function createHandler(settings: Settings, call: Call, changes: Changes) {
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    for (const [header, value] of Object.entries(HEADERS)) response.setHeader(header, value);
    const { pathname, searchParams } = new URL(urlOf(request), 'http://inspector');
    const name = pathname.slice(settings.path.length);
    const { method } = request;
    const access = accessOf(request, settings);
    if (access === 'refused') return sendText(response, 403, REFUSED);
    if (name !== '/mcp' && method !== 'GET' && method !== 'HEAD')
      return sendText(response, 405, 'Only GET and HEAD are allowed');
    // Before the token: a browser sends the password to the folder of the address that asked for it, and not to the application.
    if (name === '') return void response.writeHead(303, { location: `${settings.path}/` }).end();
    if (access === 'token required') {
      const basic = 'Basic realm="The token of the inspector, as password", charset="UTF-8"';
      response.setHeader('www-authenticate', ['Bearer', basic]);
      return sendText(response, 401, 'Send the token: Authorization: Bearer <token>');
    }
    if (name.startsWith('/assets/')) return sendFile(response, name.slice('/assets/'.length));
    if (name === '/mcp') return handleMcp(request, response, call);
    if (name === '/') return sendFile(response, 'index.html');
    if (name === '/state')
      return sendJson(response, changes(searchParams.get('boot'), Number(searchParams.get('since'))));
    const read = await call(name.slice(1), Object.fromEntries(searchParams));
    if ('problem' in read) sendText(response, 404, read.problem);
    else sendJson(response, read.value);
  };

  return (request: IncomingMessage, response: ServerResponse): void => {
    handle(request, response).catch(() => {
      if (!response.headersSent) sendText(response, 500, FAILED);
      else response.destroy();
    });
  };
}

async function sendFile(response: ServerResponse, name: string): Promise<void> {
  const kind = /^[a-z]+(?:-[a-z]+)*\.(css|html|js|svg)$/.exec(name)?.[1] ?? '';
  const folder = kind === 'css' || kind === 'js' ? 'dist/page' : 'assets';
  const body = kind === '' ? undefined : await readFile(join(PACKAGE, folder, name), 'utf8').catch(() => undefined);
  if (body === undefined) return sendText(response, 404, 'There is no such file');
  response.writeHead(200, { 'content-type': TYPES[kind] }).end(body);
}

/** Express removes the mount path from `url`, and keeps the whole in `originalUrl`. */
export function urlOf({ url = '/', originalUrl }: IncomingMessage & { originalUrl?: string }): string {
  return originalUrl ?? url;
}

function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(jsonOf(value));
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}
