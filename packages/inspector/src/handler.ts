import type { IncomingMessage, ServerResponse } from 'node:http';
import { Doorkeeper } from './access.js';
import { asset } from './assets.js';
import type { Audience } from './audience.js';
import type { Drawing } from './graph-view.js';
import type { RequestDetails } from './wire.js';

export interface HandlerParts {
  readonly path: string;
  readonly token: string | undefined;
  readonly audience: Audience;
  readonly drawing: Drawing;
  readonly details: (id: number) => RequestDetails | undefined;
  /** Runs the work without recording what it opens. */
  readonly unseen: <T>(work: () => T) => T;
}

const HEADERS = {
  'content-security-policy': "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

const REFUSED =
  'The inspector answers this machine only, asked as localhost and without a proxy in between. To look from elsewhere, give inspector() a token.';
/** Without the message: the error may be one of the application's, whose predicates and injector run for the graph. */
const FAILED = 'The inspector failed. Why is not told here, since messages of errors may hold values.';
const LONGEST_FORM = 4096;

/** Answers everything below the path of the inspector. */
export function createHandler(parts: HandlerParts): (request: IncomingMessage, response: ServerResponse) => void {
  const door = new Doorkeeper(parts.token, parts.path);

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const url = new URL(urlOf(request), 'http://inspector');
    const name = url.pathname.slice(parts.path.length);
    const access = door.access(request);
    if (access === 'refused') return answer(response, 403, REFUSED);
    if (name === '/login' && request.method === 'POST') return login(request, response);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return answer(response, 405, 'There is nothing to change here');
    if (name.startsWith('/assets/')) return file(response, name.slice('/assets/'.length));
    if (name === '') return redirect(response, `${parts.path}/`);
    if (access === 'token wanted') {
      if (name === '/') return file(response, 'login.html', 401);
      return answer(response, 401, 'Send the token: Authorization: Bearer <token>');
    }
    return show(name, url.searchParams, request, response);
  };

  const show = (
    name: string,
    query: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> | void => {
    if (name === '/') return file(response, 'index.html');
    if (name === '/events') return parts.audience.join(request, response);
    if (name === '/graph') return json(response, parts.drawing.view());
    if (name === '/explain') {
      const explanation = parts.unseen(() => parts.drawing.explain(query.get('node') ?? ''));
      return json(response, explanation === undefined ? undefined : { explanation });
    }
    const id = /^\/requests\/(\d+)$/.exec(name)?.[1];
    return json(response, id === undefined ? undefined : parts.details(Number(id)));
  };

  const login = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request);
    if (body === undefined) return answer(response, 413, 'The form is too long');
    const form = new URLSearchParams(body);
    if (!door.accepts(form.get('token') ?? ''))
      return file(response, 'login.html', 401, (page) => page.replace(' hidden', ''));
    response.setHeader('set-cookie', door.cookie(request));
    return redirect(response, `${parts.path}/`);
  };

  return (request, response) => {
    handle(request, response).catch(() => {
      if (!response.headersSent) answer(response, 500, FAILED);
      else response.destroy();
    });
  };
}

/** Express cuts off where a router is mounted, and keeps the whole. */
export function urlOf({ url = '/', originalUrl }: IncomingMessage & { originalUrl?: string }): string {
  return originalUrl ?? url;
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}

function redirect(response: ServerResponse, to: string): void {
  response.writeHead(303, { location: to }).end();
}

function json(response: ServerResponse, data: unknown): void {
  if (data === undefined) return answer(response, 404, 'There is no such thing, or no more');
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(data));
}

async function file(
  response: ServerResponse,
  name: string,
  status = 200,
  edit?: (page: string) => string,
): Promise<void> {
  const found = await asset(name);
  if (!found) return answer(response, 404, 'There is no such file');
  response.writeHead(status, { 'content-type': found.type }).end(edit ? edit(String(found.body)) : found.body);
}

/** Undefined where it is too long. It is read to its end all the same: to stop would cut the connection before the answer. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  let body = '';
  for await (const chunk of request) if (body.length <= LONGEST_FORM) body += String(chunk);
  return body.length <= LONGEST_FORM ? body : undefined;
}
