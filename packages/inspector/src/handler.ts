import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { AccessControl, type AccessOptions } from './access.js';
import type { Drawing } from './graph-view.js';
import type { Mcp } from './mcp.js';
import { PACKAGE } from './where.js';
import type { RequestDetails } from './wire.js';

const TYPES: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

interface Asset {
  readonly type: string;
  readonly body: Buffer;
  readonly gzipped: Buffer;
}

/** The files of the page, as they are in the package; each is read and compressed once. */
class Assets {
  readonly #read = new Map<string, Promise<Asset | undefined>>();

  /** Only plain names, so nothing else can be requested. */
  async find(name: string): Promise<Asset | undefined> {
    const kind = /^[a-z]+(?:-[a-z]+)*\.(css|html|js|svg)$/.exec(name)?.[1];
    const type = kind && TYPES[kind];
    if (type === undefined) return undefined;
    const known = this.#read.get(name) ?? this.#load(name, type);
    const found = await known;
    if (found) this.#read.set(name, known);
    return found;
  }

  async #load(name: string, type: string): Promise<Asset | undefined> {
    const folder = /\.(?:css|js)$/.test(name) ? 'dist/page' : 'assets';
    try {
      const body = await readFile(join(PACKAGE, folder, name));
      return { type, body, gzipped: gzipSync(body) };
    } catch {
      return undefined;
    }
  }
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '"': '&quot;' };
const escaped = (text: string): string => text.replaceAll(/[&<"]/g, (character) => ESCAPES[character] ?? character);

/** The page with links to other pages of the application. */
function withLinks(page: string, links: Readonly<Record<string, string>>): string {
  const list = Object.entries(links).map(([text, href]) => `<a href="${escaped(href)}">${escaped(text)}</a>`);
  const nav = list.length > 0 ? `<nav class="pages" aria-label="Other pages">${list.join(' ')}</nav>` : '';
  return page.replace('<!-- links -->', () => nav);
}

export interface HandlerParts extends AccessOptions {
  readonly links: Readonly<Record<string, string>>;
  readonly pages: OpenPages;
  readonly drawing: Pick<Drawing, 'definition' | 'explain' | 'view'>;
  readonly mcp: Mcp;
  /** The data of each view, by the name of its address. */
  readonly data: Readonly<Record<string, () => unknown>>;
  readonly details: (id: number) => RequestDetails | undefined;
}

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
const TOKEN_REQUIRED = 'Send the token: Authorization: Bearer <token>';
const LONGEST_FORM = 4096;
const LONGEST_MESSAGE = 65_536;

/** Handles every request below the path of the inspector. */
export function createHandler(parts: HandlerParts): (request: IncomingMessage, response: ServerResponse) => void {
  const control = new AccessControl(parts);
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
    if (typeof access === 'object') return tooMany(response, access.retryAfter);
    if (name === '/login' && request.method === 'POST') return login(request, response);
    if (name === '/mcp') {
      if (access === 'token required') return tokenRequired(response);
      return parts.mcp.handle(request, response, await bodyOf(request, LONGEST_MESSAGE));
    }
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return sendText(response, 405, 'Only GET and HEAD are allowed');
    if (name.startsWith('/assets/')) return file(request, response, name.slice('/assets/'.length));
    if (name === '') return redirect(response, `${parts.path}/`);
    if (access === 'token required') {
      if (name === '/') return file(request, response, 'login.html', 401);
      return tokenRequired(response);
    }
    return show(name, url.searchParams, request, response);
  };

  const show = (
    name: string,
    query: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> | void => {
    if (name === '/') return file(request, response, 'index.html', 200, (page) => withLinks(page, parts.links));
    if (name === '/events') {
      if (request.method === 'GET') return parts.pages.open(request, response, control.endOf(request));
      return void response.writeHead(200, { 'content-type': 'text/event-stream' }).end();
    }
    if (name === '/graph') return json(response, parts.drawing.view());
    if (name === '/explain') {
      const node = query.get('node') ?? '';
      const explanation = parts.drawing.explain(node);
      const where = parts.drawing.definition(node);
      return json(
        response,
        explanation === undefined ? undefined : { explanation, ...(where !== undefined && { where }) },
      );
    }
    const read = Object.hasOwn(parts.data, name.slice(1)) ? parts.data[name.slice(1)] : undefined;
    if (read) return json(response, read());
    const id = /^\/requests\/(\d+)$/.exec(name)?.[1];
    return json(response, id === undefined ? undefined : parts.details(Number(id)));
  };

  const login = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request, LONGEST_FORM);
    if (body === undefined) return sendText(response, 413, 'The form is too long');
    const access = control.try(request, new URLSearchParams(body).get('token') ?? '');
    if (typeof access === 'object') return tooMany(response, access.retryAfter);
    if (access === 'token required')
      return file(request, response, 'login.html', 401, (page) => page.replace(' hidden', ''));
    response.setHeader('set-cookie', control.cookie(request));
    return redirect(response, `${parts.path}/`);
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

function tokenRequired(response: ServerResponse): void {
  response.setHeader('www-authenticate', 'Bearer');
  sendText(response, 401, TOKEN_REQUIRED);
}

function tooMany(response: ServerResponse, retryAfter: number): void {
  response.setHeader('retry-after', retryAfter);
  sendText(response, 429, 'Too many wrong tokens: try again in a minute, or send the right one');
}

function redirect(response: ServerResponse, to: string): void {
  response.writeHead(303, { location: to }).end();
}

function json(response: ServerResponse, data: unknown): void {
  if (data === undefined) return sendText(response, 404, 'Not found, or no longer kept');
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(data));
}

/** Undefined if it is too long. It is read to its end all the same: stopping would close the connection before the response. */
async function bodyOf(request: IncomingMessage, longest: number): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length <= longest) parts.push(part);
  }
  return length <= longest ? Buffer.concat(parts).toString() : undefined;
}

/** The data of the pages. */
export interface PageFeed {
  /** Called when the first page opens. */
  start(): void;
  /** Called when the last page has been closed for `lingerMs`. */
  stop(): void;
  /** The first message to a page. */
  hello(): unknown;
  /** The message that all pages get at each tick. */
  tick(): unknown;
}

export interface PageTimes {
  readonly tickMs: number;
  readonly lingerMs: number;
  readonly lookMs: number;
}

/** A page that does not read its messages is disconnected; it reconnects, and gets everything in one message. */
const MAX_UNREAD_BYTES = 4_000_000;
const MAX_PAGES = 20;

/** The open pages, each a stream of server-sent events. While no page is open, no timer runs. */
export class OpenPages {
  readonly #feed: PageFeed;
  readonly #times: PageTimes;
  /** Each with the end of its session. */
  readonly #pages = new Map<ServerResponse, number>();
  #server: { readonly listening?: boolean } | undefined;
  #ticking: NodeJS.Timeout | undefined;
  #lingering: NodeJS.Timeout | undefined;
  #looksUntil = 0;

  constructor(feed: PageFeed, times: PageTimes) {
    this.#feed = feed;
    this.#times = times;
  }

  /** @param endsAt - when its session is over; by default it has none */
  open({ socket }: IncomingMessage, response: ServerResponse, endsAt = Infinity): void {
    if (this.#pages.size >= MAX_PAGES) {
      response.writeHead(503).end(`${MAX_PAGES} pages are open already`);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    clearTimeout(this.#lingering);
    if (!this.#ticking) this.#start();
    this.#pages.set(response, endsAt);
    // Node sets it on every socket it accepts.
    this.#server = (socket as { readonly server?: { readonly listening?: boolean } }).server;
    response.on('close', () => this.#closed(response));
    // The stream is idle between two messages, so the idle timeout of the server must not close it.
    socket.setTimeout(0);
    response.write(`retry: 500\nevent: hello\ndata: ${JSON.stringify(this.#feed.hello())}\n\n`);
  }

  /** Somebody looks without a stream, and may do so again for a while. */
  look(): void {
    if (!this.#ticking) this.#start();
    this.#looksUntil = Date.now() + this.#times.lookMs;
    if (this.#pages.size === 0) this.#linger(this.#times.lookMs);
  }

  /** Closes the streams of all pages: a server that closes would wait for them forever. */
  closeAll(): void {
    for (const page of this.#pages.keys()) page.end();
    this.#stop();
  }

  #start(): void {
    this.#feed.start();
    this.#ticking = setInterval(() => this.#tick(), this.#times.tickMs);
    this.#ticking.unref();
  }

  #tick(): void {
    if (this.#server?.listening === false) return this.closeAll();
    // The last page may reconnect within `lingerMs`: changes are kept for it.
    if (this.#pages.size === 0) return;
    const message = `data: ${JSON.stringify(this.#feed.tick())}\n\n`;
    for (const [page, endsAt] of this.#pages) {
      if (page.writableLength > MAX_UNREAD_BYTES) page.destroy();
      else if (Date.now() > endsAt) page.end();
      else page.write(message);
    }
  }

  #closed(page: ServerResponse): void {
    this.#pages.delete(page);
    if (this.#pages.size > 0 || !this.#ticking) return;
    this.#linger(Math.max(this.#times.lingerMs, this.#looksUntil - Date.now()));
  }

  #linger(milliseconds: number): void {
    clearTimeout(this.#lingering);
    this.#lingering = setTimeout(() => this.#stop(), milliseconds);
    this.#lingering.unref();
  }

  #stop(): void {
    if (!this.#ticking) return;
    clearTimeout(this.#lingering);
    clearInterval(this.#ticking);
    this.#ticking = undefined;
    this.#feed.stop();
  }
}
