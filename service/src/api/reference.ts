import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import type { HttpResponse } from '../http/response.js';
import { INFO, openApiDocument, TAGS } from './document.js';
import {
  API_ENDPOINTS,
  CALLER_REFUSED,
  type Endpoint,
  type EndpointResponse,
  type Example,
  type ParameterName,
  PARAMETERS,
  RESPONSE_HEADERS,
} from './endpoints.js';

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Text that is markup already; `html` escapes every other. */
class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | false | undefined | readonly Part[];

function html(markup: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(String.raw({ raw: markup }, ...parts.map(textOf)));
}

/** A description, in which back quotes enclose code. */
function prose(text: string): Html {
  return html`${text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

function textOf(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === undefined || part === false) return '';
  if (typeof part === 'object') return part.map(textOf).join('');
  return String(part).replaceAll(/[&<>"]/g, (character) => ESCAPES[character] ?? character);
}

/** The part of JSON Schema that this service uses. */
interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly format?: string;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** One line about a property, a parameter or a header. */
export interface Field {
  readonly name: string;
  readonly schema: object;
  readonly required: boolean;
  readonly description: string;
}

function fieldList(fields: readonly Field[]): Html {
  return html`<dl class="fields">
    ${fields.map(
      ({ name, schema, required, description }) =>
        html`<div>
          <dt><code>${name}</code> <span>${kindOf(schema)}${!required && ', optional'}</span></dt>
          <dd>${prose(description)}</dd>
        </div>`,
    )}
  </dl>`;
}

/** Every property of a schema, those of nested objects by their path. */
export function fieldsOf(schema: Schema, path = ''): Field[] {
  if (schema.items) return fieldsOf(schema.items, `${path}[]`);
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => {
    const name = path === '' ? key : `${path}.${key}`;
    const required = schema.required?.includes(key) ?? false;
    const field = { name, schema: inner, required, description: inner.description ?? '' };
    return [field, ...fieldsOf(inner, name)];
  });
}

function kindOf(schema: Schema): string {
  const { type = 'value', format, items, minimum, maximum, minLength, maxLength, minItems, maxItems } = schema;
  const kind = items ? `array of ${items.type}s` : schema.const === undefined ? type : JSON.stringify(schema.const);
  const limits = [
    // `text` is our own format: a string that a database stores.
    format === 'text' ? undefined : format,
    range(minimum, maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' items'),
  ];
  return [kind, ...limits.filter((limit) => limit !== undefined)].join(', ');
}

function range(least: number | undefined, most: number | undefined, unit: string): string | undefined {
  const [low, high] = [least?.toLocaleString('en'), most?.toLocaleString('en')];
  if (low !== undefined && high !== undefined) return `${low} to ${high}${unit}`;
  if (low !== undefined) return `at least ${low}${unit}`;
  return high === undefined ? undefined : `at most ${high}${unit}`;
}

/** The form that sends an operation. It stays hidden until the script of the page is loaded. */
function tryIt(endpoint: Endpoint): Html {
  const { operationId, method, path, parameters, request, responses } = endpoint;
  const links = Object.values(responses).flatMap(({ links: to = {} }) => Object.entries(to));
  return html`<form
    hidden
    class="try"
    aria-label="Try it: ${endpoint.summary}"
    data-operation="${operationId}"
    data-method="${method}"
    data-path="${path}"
    data-links="${JSON.stringify(Object.fromEntries(links))}"
  >
    <h4>Try it</h4>
    ${parameters.filter(isTyped).map((name) => parameterInput(name, operationId))}
    ${request && bodyInput(Object.values(request.examples))}
    <button>Send</button>
    <p class="result" role="status"></p>
    <pre class="received" tabindex="0" aria-label="Response" hidden></pre>
  </form>`;
}

/** A browser sends cookies by itself. */
function isTyped(key: ParameterName): boolean {
  return PARAMETERS[key].in !== 'cookie';
}

function parameterInput(key: ParameterName, operationId: string): Html {
  const parameter = PARAMETERS[key];
  const { name } = parameter;
  const example = 'example' in parameter ? parameter.example : '';
  const required = 'required' in parameter;
  const source = required && API_ENDPOINTS.find((endpoint) => finds(endpoint, operationId, name));
  return html`<label
      >${name}${!required && ' (optional)'}
      <input
        name="${name}"
        data-in="${parameter.in}"
        value="${example}"
        autocomplete="off"
        spellcheck="false"
        ${source && html`data-source="${source.operationId}"`}
    /></label>
    ${source && html`<p class="hint">Left empty, it is taken from the response of <em>${source.summary}</em>.</p>`}`;
}

/** Whether the operation changes nothing, and has a link that fills the parameter. */
function finds({ method, responses }: Endpoint, operationId: string, parameter: string): boolean {
  const links = Object.values(responses).map((response) => response.links?.[operationId]);
  return method === 'GET' && links.some((link) => link !== undefined && parameter in link);
}

function bodyInput(examples: readonly Example[]): Html {
  const bodies = examples.map(({ summary, value }) => ({ summary, text: JSON.stringify(value, undefined, 2) }));
  return html`<label
      >Example
      <select>
        ${bodies.map(({ summary, text }) => html`<option value="${text}">${summary}</option>`)}
      </select></label
    >
    <label>Body <textarea name="body" rows="8" spellcheck="false">${bodies[0]?.text}</textarea></label>`;
}

/** One operation: what it takes, what it responds, and a form that sends it. */
function operationSection(endpoint: Endpoint, authenticates: boolean): Html {
  const { operationId, method, path, summary, description, parameters, request } = endpoint;
  const fields = parameters.map((name) => ({ required: false, ...PARAMETERS[name] }));
  const responses = Object.entries({ ...endpoint.responses, ...(authenticates && { 401: CALLER_REFUSED }) });
  return html`<section class="operation" id="${operationId}" aria-labelledby="${operationId}-title">
    <h3 id="${operationId}-title"><a href="#${operationId}">${summary}</a></h3>
    <p class="address"><b class="method ${method.toLowerCase()}">${method}</b> <code>${path}</code></p>
    <div class="columns">
      <div>
        <p>${prose(description)}</p>
        ${
          fields.length > 0 &&
          html`<h4>Parameters</h4>
            ${fieldList(fields)}`
        }
        ${
          request &&
          html`<h4>Body</h4>
            ${fieldList(fieldsOf(request.schema))}`
        }
        <h4>Responses</h4>
        <ul class="responses">
          ${responses.map(([status, response]) => responseItem(status, response))}
        </ul>
      </div>
      ${tryIt(endpoint)}
    </div>
  </section>`;
}

/** One line, which opens. */
function responseItem(status: string, { description, schema, headers, examples }: EndpointResponse): Html {
  const fields = headers.map((name) => ({ required: false, name, ...RESPONSE_HEADERS[name] }));
  // An error has one property, which its examples show.
  const isError = status >= '400';
  const properties = isError ? [] : fieldsOf(schema);
  return html`<li>
    <details>
      <summary><b class="status s${status.slice(0, 1)}">${status}</b> <span>${prose(description)}</span></summary>
      ${properties.length > 0 && fieldList(properties)}
      ${
        fields.length > 0 &&
        html`<h5>Headers</h5>
          ${fieldList(fields)}`
      }
      ${Object.values(examples).map(
        ({ summary, value }) =>
          html`<figure>
            <figcaption>${prose(summary)}</figcaption>
            <pre tabindex="0">${JSON.stringify(value, undefined, isError ? 0 : 2)}</pre>
          </figure>`,
      )}
    </details>
  </li>`;
}

export interface PageOptions {
  /** Pages about this service, by their names. */
  readonly links: Readonly<Record<string, string>>;
  /** Whether the service checks callers: then the page describes 401, and has a field for their credentials. */
  readonly authenticates: boolean;
}

const STYLE_SHEETS = ['colors.css', 'reference.css', 'operation.css', 'try-it.css'];

const GROUPS = TAGS.map(({ name, description }) => ({
  name,
  description,
  endpoints: API_ENDPOINTS.filter(({ tag }) => tag === name),
}));

/** The reference as a page that can be read without its script. */
export function referencePage({ links, authenticates }: PageOptions): string {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${INFO.title}: API reference</title>
        ${STYLE_SHEETS.map((name) => html`<link rel="stylesheet" href="/docs/${name}" />`)}
        <link rel="icon" type="image/svg+xml" href="/docs/icon.svg" />
        <script type="module" src="/docs/reference.js"></script>
      </head>
      <body>
        <header>
          <h1>${INFO.title} <small>${INFO.version}</small></h1>
          <nav aria-label="Pages of this service">
            ${Object.entries(links).map(([name, href]) => html`<a href="${href}">${name}</a>`)}
          </nav>
        </header>
        <nav class="contents" aria-label="Operations">${GROUPS.map(contents)}</nav>
        <main>
          <p>${prose(INFO.description)}</p>
          ${authenticates && credentials()}
          ${GROUPS.map(
            ({ name, description, endpoints }) =>
              html`<h2>${name}</h2>
                <p>${prose(description)}</p>
                ${endpoints.map((endpoint) => operationSection(endpoint, authenticates))}`,
          )}
        </main>
      </body>
    </html> `;
  // The indentation of the templates is a quarter of the page. Within <pre> and <textarea> only JSON is indented.
  return page.text.replaceAll(/>\s*\n\s*</g, '>\n<').trimStart();
}

function contents({ name, endpoints }: (typeof GROUPS)[number]): Html {
  return html`<p id="contents-${name}">${name}</p>
    <ul aria-labelledby="contents-${name}">
      ${endpoints.map(
        ({ operationId, summary, method }) =>
          html`<li>
            <a href="#${operationId}">${summary} <b class="method ${method.toLowerCase()}">${method}</b></a>
          </li>`,
      )}
    </ul>`;
}

function credentials(): Html {
  return html`<form class="try credentials" hidden aria-label="Credentials">
    <label
      >Authorization
      <input id="authorization" placeholder="Bearer …" autocomplete="off" spellcheck="false" aria-describedby="kept"
    /></label>
    <p class="hint" id="kept">Sent with each request of this page, and kept until it is closed.</p>
  </form>`;
}

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

/** The paths of the OpenAPI document, of the page that shows it, and of the files that the page loads. */
export const REFERENCE_PATHS = [
  '/openapi.json',
  '/docs',
  '/docs/',
  '/docs/reference.js',
  '/docs/colors.css',
  '/docs/reference.css',
  '/docs/operation.css',
  '/docs/try-it.css',
  '/docs/icon.svg',
] as const;

export type ReferencePath = (typeof REFERENCE_PATHS)[number];
