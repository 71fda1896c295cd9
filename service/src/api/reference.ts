import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import type { HttpResponse } from '../http/response.js';
import { openApiDocument } from './document.js';
import { type PageOptions, referencePage } from './page/page.js';
import type { ReferencePath } from './reference-paths.js';

interface Content {
  readonly type: string;
  readonly read: () => string | Buffer;
}

interface Page {
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const file = (name: string) => (): Buffer => readFileSync(new URL(`../../${name}`, import.meta.url));

const styleSheet = (name: string): Content => ({ type: 'text/css; charset=utf-8', read: file(`assets/${name}`) });

/** The page may load and send nothing from or to other origins. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The OpenAPI document and its page, as one host serves them. */
export class Reference {
  readonly #contents: Readonly<Record<ReferencePath, Content>>;
  /** Each is read at its first request. */
  readonly #pages = new Map<ReferencePath, Page>();

  constructor(options: PageOptions) {
    const page: Content = { type: 'text/html; charset=utf-8', read: () => referencePage(options) };
    this.#contents = {
      '/openapi.json': {
        type: 'application/json; charset=utf-8',
        read: () => `${JSON.stringify(openApiDocument(), undefined, 2)}\n`,
      },
      '/docs': page,
      '/docs/': page,
      '/docs/reference.js': { type: 'text/javascript; charset=utf-8', read: file('dist/page/reference.js') },
      '/docs/colors.css': styleSheet('colors.css'),
      '/docs/reference.css': styleSheet('reference.css'),
      '/docs/operation.css': styleSheet('operation.css'),
      '/docs/try-it.css': styleSheet('try-it.css'),
      '/docs/icon.svg': { type: 'image/svg+xml', read: file('assets/icon.svg') },
    };
  }

  /** The response to a GET of one of these paths; 304 if the client has the page already. */
  respond(path: ReferencePath, { 'if-none-match': known }: IncomingHttpHeaders): HttpResponse<Buffer | undefined> {
    const { etag, headers, body } = this.#pages.get(path) ?? this.#make(path);
    // The header may list several, and a proxy that compresses makes them weak.
    if (known?.includes(etag)) return { status: 304, headers, body: undefined };
    return { status: 200, headers: { ...headers, 'content-length': String(body.length) }, body };
  }

  #make(path: ReferencePath): Page {
    const { type, read } = this.#contents[path];
    const body = Buffer.from(read());
    const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
    const headers = {
      'content-type': type,
      // Clients keep the page, and ask each time whether it has changed.
      'cache-control': 'no-cache',
      etag,
      'content-security-policy': POLICY,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    };
    const made = { etag, headers, body };
    this.#pages.set(path, made);
    return made;
  }
}
