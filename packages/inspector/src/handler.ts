import type { IncomingMessage, ServerResponse } from 'node:http';
import { AccessControl } from './access.js';
import { Assets } from './assets.js';
import type { Drawing } from './graph-view.js';
import type { OpenPages } from './open-pages.js';
import type { RequestDetails } from './wire.js';

export interface HandlerParts {
  readonly path: string;
  readonly token: string | undefined;
  readonly pages: OpenPages;
  readonly drawing: Drawing;
  /** What a view reads while it is shown, by the name of its address. */
  readonly data: Readonly<Record<string, () => unknown>>;
  readonly details: (id: number) => RequestDetails | undefined;
  /** Runs the work without recording the scopes that it opens. */
  readonly unrecorded: <T>(work: () => T) => T;
}

const HEADERS = {
  'content-security-policy': "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

const REFUSED =
  'The inspector responds to clients on this machine only: open it as localhost, without a proxy in between. To open it from elsewhere, set the option `token`.';
/** Without the message of the error: it may come from a predicate of the application, and contain values. */
const FAILED = 'The inspector failed. The message of the error is not shown, because it may contain values.';
const LONGEST_FORM = 4096;

/** Handles every request below the path of the inspector. */
export function createHandler(parts: HandlerParts): (request: IncomingMessage, response: ServerResponse) => void {
  const control = new AccessControl(parts.token, parts.path);
  const assets = new Assets();
  const file = async (
    request: IncomingMessage,
    response: ServerResponse,
    name: string,
    status = 200,
    edit?: (page: string) => string,
  ): Promise<void> => {
    const found = await assets.find(name);
    if (!found) return sendText(response, 404, 'There is no such file');
    response.setHeader('vary', 'accept-encoding');
    response.setHeader('content-type', found.type);
    if (edit) return void response.writeHead(status).end(edit(String(found.body)));
    const mayCompress = /\bgzip\b/.test(String(request.headers['accept-encoding']));
    if (mayCompress) response.setHeader('content-encoding', 'gzip');
    response.writeHead(status).end(mayCompress ? found.gzipped : found.body);
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const url = new URL(urlOf(request), 'http://inspector');
    const name = url.pathname.slice(parts.path.length);
    const access = control.access(request);
    if (access === 'refused') return sendText(response, 403, REFUSED);
    if (access === 'too many wrong tokens') return tooMany(request, response);
    if (name === '/login' && request.method === 'POST') return login(request, response);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return sendText(response, 405, 'Only GET and HEAD are allowed');
    if (name.startsWith('/assets/')) return file(request, response, name.slice('/assets/'.length));
    if (name === '') return redirect(response, `${parts.path}/`);
    if (access === 'token required') {
      if (name === '/') return file(request, response, 'login.html', 401);
      return sendText(response, 401, 'Send the token: Authorization: Bearer <token>');
    }
    return show(name, url.searchParams, request, response);
  };

  const show = (
    name: string,
    query: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> | void => {
    if (name === '/') return file(request, response, 'index.html');
    if (name === '/events') {
      if (request.method === 'GET') return parts.pages.open(request, response);
      return void response.writeHead(200, { 'content-type': 'text/event-stream' }).end();
    }
    if (name === '/graph') return json(response, parts.drawing.view());
    if (name === '/explain') {
      const explanation = parts.unrecorded(() => parts.drawing.explain(query.get('node') ?? ''));
      return json(response, explanation === undefined ? undefined : { explanation });
    }
    const read = Object.hasOwn(parts.data, name.slice(1)) ? parts.data[name.slice(1)] : undefined;
    if (read) return json(response, read());
    const id = /^\/requests\/(\d+)$/.exec(name)?.[1];
    return json(response, id === undefined ? undefined : parts.details(Number(id)));
  };

  const login = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request);
    if (body === undefined) return sendText(response, 413, 'The form is too long');
    const access = control.try(request, new URLSearchParams(body).get('token') ?? '');
    if (access === 'too many wrong tokens') return tooMany(request, response);
    if (access === 'token required')
      return file(request, response, 'login.html', 401, (page) => page.replace(' hidden', ''));
    response.setHeader('set-cookie', control.cookie(request));
    return redirect(response, `${parts.path}/`);
  };

  const tooMany = (request: IncomingMessage, response: ServerResponse): void => {
    response.setHeader('retry-after', control.waitOf(request));
    sendText(response, 429, 'Too many wrong tokens: try again in a minute');
  };

  return (request, response) => {
    handle(request, response).catch(() => {
      if (!response.headersSent) sendText(response, 500, FAILED);
      else response.destroy();
    });
  };
}

/** Express removes the mount path from `url`, and keeps the whole in `originalUrl`. */
export function urlOf({ url = '/', originalUrl }: IncomingMessage & { originalUrl?: string }): string {
  return originalUrl ?? url;
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}

function redirect(response: ServerResponse, to: string): void {
  response.writeHead(303, { location: to }).end();
}

function json(response: ServerResponse, data: unknown): void {
  if (data === undefined) return sendText(response, 404, 'Not found, or no longer kept');
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(data));
}

/** Undefined if it is too long. It is read to its end all the same: stopping would close the connection before the response. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  let body = '';
  for await (const chunk of request) if (body.length <= LONGEST_FORM) body += String(chunk);
  return body.length <= LONGEST_FORM ? body : undefined;
}
