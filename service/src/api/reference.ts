import { readFileSync } from 'node:fs';
import { type HttpResponse, textResponse } from '../http/response.js';
import { API_ENDPOINTS, type Endpoint, HEADERS, INFO, openApiDocument, type Parameter } from './document.js';

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Text that is markup already; `html` escapes every other. */
class Html {
  constructor(readonly text: string) {}
}

type Part = Html | string | number | false | undefined | readonly Part[];

function html(markup: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(String.raw({ raw: markup }, ...parts.map(textOf)));
}

function textOf(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === undefined || part === false) return '';
  if (typeof part === 'object') return part.map(textOf).join('');
  return String(part).replaceAll(/[&<>"]/g, (character) => ESCAPES[character] ?? character);
}

/** A description, in which back quotes enclose code. */
const prose = (text: string): Html =>
  html`${text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part))}`;

const json = (value: unknown): Html =>
  html`<pre tabindex="0" role="group" aria-label="JSON">${JSON.stringify(value, undefined, 1)}</pre>`;

/** A browser sends cookies by itself. */
const isTyped = (parameter: Parameter): boolean => parameter.in !== 'cookie';

const input = ({ name, in: place, required = false, description }: Parameter): Html =>
  html`<label
      ><span>${name} ${!required && html`<i>optional</i>`}</span>
      <input name="${name}" data-in="${place}" ${required && html`required`} autocomplete="off" spellcheck="false"
    /></label>
    <p>${prose(description)}</p>`;

/** One operation: a form that sends it, and what it responds with. Without the script of the page it can be read. */
function section(endpoint: Endpoint, authenticates: boolean): Html {
  const { operationId, method, path, summary, description, parameters, request, responses } = endpoint;
  const { schema, examples = {} } = request?.['application/json'] ?? {};
  const [example] = Object.values(examples);
  const shown = Object.entries(responses).filter(([status]) => status !== '401' || authenticates);
  return html`<section id="${operationId}" aria-labelledby="${operationId}-title">
    <h2 id="${operationId}-title">${summary}</h2>
    <p><b>${method}</b> <code>${path}</code></p>
    <p>${prose(description)}</p>
    <form aria-label="Try it: ${summary}" data-method="${method}" data-path="${path}">
      ${parameters.filter(isTyped).map(input)}
      ${example && html`<label>Body <textarea name="body" rows="4" spellcheck="false">${JSON.stringify(example.value)}</textarea></label>`}
      <button hidden>Send</button> <output></output>
      <pre tabindex="0" role="group" aria-label="Received body" hidden></pre>
    </form>
    ${
      schema &&
      html`<details>
        <summary>Schema of the body</summary>
        ${json(schema)}
      </details>`
    }
    <details>
      <summary>Responses</summary>
      ${shown.map(([status, { description: meaning, content, headers }]) => {
        const bodies = Object.values(content['application/json'].examples).map(({ value }) => json(value));
        return html`<h3>${status}</h3>
          <p>${prose(meaning)} Headers: ${Object.keys(headers).join(', ')}.</p>
          ${bodies}`;
      })}
    </details>
  </section>`;
}

export interface PageOptions {
  /** The path of the inspector where it is on. */
  readonly inspector?: string | undefined;
  /** Whether the service checks callers: then the page describes 401, and has a field for their credentials. */
  readonly authenticates: boolean;
}

/** The reference as a page that can be read without its script. */
export function referencePage({ inspector, authenticates }: PageOptions): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${INFO.title}: API reference</title>
        <link rel="stylesheet" href="/docs/reference.css" />
        <link rel="icon" href="data:," />
        <script src="/docs/reference.js" defer></script>
      </head>
      <body>
        <main>
          <h1>${INFO.title} <small>${INFO.version}</small></h1>
          <p>${prose(INFO.description)} The requests of this page are real: the service stores what they create.</p>
          <nav aria-label="Operations and pages">
            ${API_ENDPOINTS.map(({ operationId, summary }) => html`<a href="#${operationId}">${summary}</a> `)}
            <a href="/openapi.json">OpenAPI document</a>
            ${inspector !== undefined && html`<a href="${inspector}">Inspector</a>`}
          </nav>
          ${authenticates && html`<label>Authorization <input id="authorization" placeholder="Bearer …" autocomplete="off" /></label>`}
          ${API_ENDPOINTS.map((endpoint) => section(endpoint, authenticates))}
          <section id="headers" aria-labelledby="headers-title">
            <h2 id="headers-title">Headers of responses</h2>
            <dl>
              ${Object.entries(HEADERS).map(
                ([name, { description }]) =>
                  html`<dt><code>${name}</code></dt>
                    <dd>${prose(description)}</dd>`,
              )}
            </dl>
          </section>
        </main>
      </body>
    </html> `.text;
}

/** The page may load and send nothing from or to other origins. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const asset = (name: string): string => readFileSync(new URL(`../../assets/${name}`, import.meta.url), 'utf8');

/** The OpenAPI document, the page that shows it, and the files that the page loads: their paths, types and texts. */
const FILES: readonly (readonly [path: string, type: string, read: (options: PageOptions) => string])[] = [
  ['/openapi.json', 'application/json', openApiDocument],
  ['/docs', 'text/html', referencePage],
  ['/docs/', 'text/html', referencePage],
  ['/docs/reference.js', 'text/javascript', () => asset('reference.js')],
  ['/docs/reference.css', 'text/css', () => asset('reference.css')],
];

export const REFERENCE_PATHS = FILES.map(([path]) => path);

/** By path: the response to a GET, which is made at the first one. */
export function referenceResponses(options: PageOptions): readonly (readonly [string, () => HttpResponse<string>])[] {
  return FILES.map(([path, type, read]) => {
    let made: HttpResponse<string> | undefined;
    return [path, () => (made ??= withPolicy(textResponse(200, `${type}; charset=utf-8`, read(options))))] as const;
  });
}

const withPolicy = ({ headers, ...response }: HttpResponse<string>): HttpResponse<string> => ({
  ...response,
  headers: { ...headers, 'content-security-policy': POLICY, 'referrer-policy': 'no-referrer' },
});
