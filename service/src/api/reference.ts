import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type HttpResponse, textResponse } from '../http/response.js';
import { HEADERS, INFO, type Operation, PATHS, SCHEMAS } from './document.js';

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => ESCAPES[character] ?? character);
/** A description, in which back quotes enclose code. */
const prose = (text = ''): string => escaped(text).replaceAll(/`([^`]*)`/g, '<code>$1</code>');

const input = ({ name, in: place, description }: NonNullable<Operation['parameters']>[number]): string =>
  `<label>${name} <input name="${name}" data-in="${place}" ${place === 'path' ? 'required' : ''} autocomplete="off"></label>
  <p>${prose(description)}</p>`;

const terms = (entries: readonly (readonly [string, string])[]): string =>
  `<dl>${entries.map(([term, text]) => `<dt><code>${term}</code></dt><dd>${text}</dd>`).join('')}</dl>`;

/** One operation: a form that sends it, and its responses. It can be read without the script of the page. */
function section(path: string, method: string, operation: Operation): string {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const example = requestBody && JSON.stringify(requestBody.content['application/json'].example);
  const described = Object.entries(responses).map(
    ([status, { description: meaning, headers }]) =>
      [status, `${prose(meaning)} Headers: ${Object.keys(headers).join(', ')}.`] as const,
  );
  return `<section id="${operationId}" aria-labelledby="${operationId}-title">
    <h2 id="${operationId}-title">${summary}</h2>
    <p><b>${method.toUpperCase()}</b> <code>${path}</code></p>
    <p>${prose(description)}</p>
    <form aria-label="Try it: ${summary}" data-method="${method.toUpperCase()}" data-path="${path}">
      ${parameters.map(input).join('')}
      ${example ? `<label>Body <textarea name="body" rows="3">${escaped(example)}</textarea></label>` : ''}
      <button hidden>Send</button> <output></output>
      <pre tabindex="0" role="group" aria-label="Received body" hidden></pre>
    </form>
    <h3>Responses</h3>
    ${terms(described)}
  </section>`;
}

const asset = (name: string): string => readFileSync(new URL(`../../assets/${name}`, import.meta.url), 'utf8');
const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** The document as a page of one file, which loads nothing, and sends only what its reader sends. */
export function referencePage(): HttpResponse<string> {
  const [style, script] = [asset('reference.css'), asset('reference.js')];
  const operations = Object.entries(PATHS).flatMap(([path, methods]) =>
    Object.entries<Operation>(methods).map(([method, operation]) => [path, method, operation] as const),
  );
  const page = `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${INFO.title}: API reference</title><link rel="icon" href="data:,"><style>${style}</style>
</head>
<body><main>
  <h1>${INFO.title} <small>${INFO.version}</small></h1>
  <p>${prose(INFO.description)} The requests of this page are real: the service stores what they create.</p>
  <nav aria-label="Operations">
    ${operations.map(([, , { operationId, summary }]) => `<a href="#${operationId}">${summary}</a>`).join(' ')}
    <a href="/openapi.json">OpenAPI document</a>
  </nav>
  <label>Authorization <input id="authorization" placeholder="where the service checks its callers" autocomplete="off"></label>
  ${operations.map(([path, method, operation]) => section(path, method, operation)).join('')}
  <h2>Headers of responses</h2>
  ${terms(Object.entries(HEADERS).map(([name, { description }]) => [name, prose(description)]))}
  <h2>Schemas</h2>
  <pre tabindex="0" role="group" aria-label="JSON">${escaped(JSON.stringify(SCHEMAS, undefined, 1))}</pre>
</main><script>${script}</script></body>
</html>
`;
  const policy =
    `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; img-src data:; connect-src 'self'; ` +
    `base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  const { headers, ...response } = textResponse(200, 'text/html; charset=utf-8', page);
  return { ...response, headers: { ...headers, 'content-security-policy': policy, 'referrer-policy': 'no-referrer' } };
}
