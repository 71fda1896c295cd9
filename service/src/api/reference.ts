import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { ErrorBody, type HttpResponse } from '../http/response.js';
import { INFO, openApiDocument, TAGS } from './document.js';
import {
  API_ENDPOINTS,
  CALLER_REFUSED,
  type Endpoint,
  type EndpointResponse,
  type Example,
  KEY_RULES,
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

/** As text of an element, where quotation marks need no escape. */
function json(value: unknown): Html {
  return new Html(JSON.stringify(value).replaceAll('&', '&amp;').replaceAll('<', '&lt;'));
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
  readonly anyOf?: readonly Schema[];
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

function fieldList(fields: readonly Field[], id?: (name: string) => string): Html {
  return html`<dl class="fields">
    ${fields.map(
      ({ name, schema, required, description }) =>
        html`<div>
          <dt ${id && html`id="${id(name)}"`}>
            <code>${name}</code> <span>${kindOf(schema)}${!required && ', optional'}</span>
          </dt>
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
  if (schema.anyOf) return schema.anyOf.map(kindOf).join(' or ');
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
      ><span>${name}${!required && html` <i>optional</i>`}</span>
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

/** The page makes a key itself. What a key does is explained with the operation that needs it most. */
function keyInput(operationId: string): Html {
  const explains = operationId === KEY_EXPLAINED_AT;
  return html`<div class="key">
      ${parameterInput('idempotencyKey', operationId)}
      <button type="button" class="small fresh">New key</button>
    </div>
    ${
      explains
        ? keyRules()
        : html`<p class="hint">
            Sent again with the same key, the request is carried out once:
            <a href="#idempotency">what the key does</a>.
          </p>`
    }`;
}

function keyRules(): Html {
  return html`<div class="rules" id="idempotency">
    <p>
      <b>Sent again, it is done once.</b> A client that lost the response sends the same request with the same key. This
      page makes a new key for each press of <b>Send</b>; <b>Replay</b> sends the same again.
    </p>
    <dl>
      ${KEY_RULES.map(
        ([comes, gets]) =>
          html`<div>
            <dt>${comes}</dt>
            <dd>${prose(gets)}</dd>
          </div>`,
      )}
    </dl>
  </div>`;
}

function bodyInput(examples: readonly Example[]): Html {
  const bodies = examples.map(({ summary, value }) => ({ summary, text: JSON.stringify(value) }));
  const [first] = bodies;
  return html`<label class="examples"
      >Example
      <select>
        ${bodies.map(({ summary, text }) => html`<option value="${text}">${summary}</option>`)}
      </select></label
    >
    <label>Body <textarea name="body" spellcheck="false">${first?.text}</textarea></label>`;
}

/** One operation: a form that sends it, samples of the same request, and its responses. Without the script of the page it can be read. */
function operationSection(endpoint: Endpoint, authenticates: boolean): Html {
  const { operationId, method, path, summary, description, parameters, request } = endpoint;
  const links = Object.values(endpoint.responses).flatMap(({ links: to = {} }) => Object.entries(to));
  const typed = parameters.filter((name) => isTyped(name) && name !== 'idempotencyKey');
  return html`<section class="operation" id="${operationId}" aria-labelledby="${operationId}-title">
    <form
      aria-label="Try it: ${summary}"
      data-operation="${operationId}"
      data-method="${method}"
      data-path="${path}"
      data-links="${JSON.stringify(Object.fromEntries(links))}"
    >
      <div class="ask">
        <h3 id="${operationId}-title"><a href="#${operationId}">${summary}</a></h3>
        <p>${prose(description)}</p>
        <div class="address">
          <b class="method ${method.toLowerCase()}">${method}</b> <code>${path}</code>
          <button class="send" hidden>Send</button>
        </div>
        <div class="inputs" hidden>
          ${typed.map((name) => parameterInput(name, operationId))}
          ${request && bodyInput(Object.values(request.examples))}
          ${parameters.includes('idempotencyKey') && keyInput(operationId)}
        </div>
        ${requestSchema(endpoint)}
      </div>
      <div class="sample" data-label="Samples of the request" hidden>
        ${['curl', 'fetch'].map(
          (language) =>
            html`<div data-tab="${language}" id="${operationId}-${language}">
              <pre aria-label="The request with ${language}"></pre>
            </div>`,
        )}
      </div>
      ${replyTo(endpoint, authenticates)}
    </form>
  </section>`;
}

function requestSchema({ parameters, request }: Endpoint): Html | false {
  const fields = parameters.map((name) => ({ required: false, ...PARAMETERS[name] }));
  if (fields.length === 0 && !request) return false;
  return html`<details>
    <summary>Schema of the request</summary>
    ${
      request &&
      html`<h4>Body</h4>
        ${fieldList(fieldsOf(request.schema))}`
    }
    ${
      fields.length > 0 &&
      html`<h4>Parameters</h4>
        ${fieldList(fields)}`
    }
  </details>`;
}

/** What was received, and what each status means. */
function replyTo({ operationId, responses }: Endpoint, authenticates: boolean): Html {
  const all = Object.entries({ ...responses, ...(authenticates && { 401: CALLER_REFUSED }) });
  return html`<div class="reply">
    <h4>Response</h4>
    <div class="responses" data-label="Responses">
      <div data-tab="Received" id="${operationId}-response" hidden>
        <p class="line">
          <b class="result" role="status"></b>
          <button type="button" class="small again later" hidden>Replay</button>
          <a class="inspect later" target="_blank" href="#${operationId}" hidden></a>
        </p>
        <dl class="headers later" hidden></dl>
        <pre class="received later" aria-label="Received body" hidden></pre>
      </div>
      ${all.map(([status, response]) => statusPanel(operationId, status, response))}
    </div>
  </div>`;
}

function statusPanel(
  operationId: string,
  status: string,
  { description, schema, headers, examples }: EndpointResponse,
): Html {
  // An error has one property, which its examples show.
  const isError = status >= '400';
  const properties = isError ? [] : fieldsOf(schema);
  const [first, ...others] = Object.values(examples);
  return html`<div data-tab="${status}" id="${operationId}-${status}">
    <p><b class="s${status.slice(0, 1)}">${status}</b> ${prose(description)}</p>
    ${first && figure(first)}
    ${
      others.length > 0 &&
      (isError
        ? others.map(figure)
        : html`<details>
            <summary>Further examples</summary>
            ${others.map(figure)}
          </details>`)
    }
    ${
      properties.length > 0 &&
      html`<details>
        <summary>Schema of the response</summary>
        ${fieldList(properties)}
      </details>`
    }
    ${
      headers.length > 0 &&
      html`<p class="hint">
        Headers: ${headers.map((name) => html`<a href="#header-${name}"><code>${name}</code></a> `)}
      </p>`
    }
  </div>`;
}

function figure({ summary, value }: Example): Html {
  return html`<figure>
    <figcaption>${prose(summary)}</figcaption>
    <pre>${json(value)}</pre>
  </figure>`;
}

export interface PageOptions {
  /** Pages about this service, by their names. */
  readonly links: Readonly<Record<string, string>>;
  /** The path of the inspector where it is on: responses link their requests there. */
  readonly inspector?: string | undefined;
  /** Whether the service checks callers: then the page describes 401, and has a field for their credentials. */
  readonly authenticates: boolean;
}

const HEADERS = Object.entries(RESPONSE_HEADERS).map(([name, header]) => ({ name, required: false, ...header }));

const KEY_EXPLAINED_AT = 'createOrder';

const GROUPS = TAGS.map(({ name, description }) => ({
  name,
  description,
  endpoints: API_ENDPOINTS.filter(({ tag }) => tag === name),
}));

/** The reference as a page that can be read without its script. */
export function referencePage({ links, inspector, authenticates }: PageOptions): string {
  const pages = Object.entries({ ...links, ...(inspector !== undefined && { Inspector: inspector }) });
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${INFO.title}: API reference</title>
        <link rel="stylesheet" href="/docs/reference.css" />
        <link rel="icon" type="image/svg+xml" href="/docs/icon.svg" />
        <script src="/docs/reference.js"></script>
      </head>
      <body ${inspector !== undefined && html`data-inspector="${inspector}"`}>
        <header>
          <h1>
            <img src="/docs/icon.svg" alt="" width="22" height="22" /> ${INFO.title} <small>${INFO.version}</small>
          </h1>
          <nav aria-label="Pages of this service">
            ${pages.map(([name, href]) => html`<a href="${href}">${name}</a>`)}
          </nav>
          <button type="button" class="quiet" id="theme" aria-label="Switch between light and dark" hidden></button>
        </header>
        <nav class="contents" aria-label="Operations">
          ${GROUPS.map(contents)}
          <ul class="more">
            <li><a href="#errors">Errors and headers</a></li>
          </ul>
        </nav>
        <main>
          <p class="lead" hidden>
            Press <b>Send</b>. The requests of this page are real: the service stores what they create.
          </p>
          ${authenticates && credentials()}
          ${GROUPS.map(
            ({ name, description, endpoints }) =>
              html`<h2>${name} <small>${prose(description)}</small></h2>
                ${endpoints.map((endpoint) => operationSection(endpoint, authenticates))}`,
          )}
          <section class="operation errors" id="errors" aria-labelledby="errors-title">
            <h2 id="errors-title">Errors and headers</h2>
            <p>${prose(INFO.description)}</p>
            ${fieldList(fieldsOf(ErrorBody))}
            <h3>Headers of responses</h3>
            ${fieldList(HEADERS, (name) => `header-${name}`)}
          </section>
        </main>
      </body>
    </html> `;
  // The indentation of the templates is a quarter of the page, and nothing else has line breaks.
  return page.text.replaceAll(/\s*\n\s*/g, '\n').trimStart();
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
  return html`<form class="credentials" hidden aria-label="Credentials">
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
      '/docs/reference.css': { type: 'text/css; charset=utf-8', read: file('assets/reference.css') },
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
  '/docs/reference.css',
  '/docs/icon.svg',
] as const;

export type ReferencePath = (typeof REFERENCE_PATHS)[number];
