import type { Endpoint, Example } from '../endpoint.js';
import { API_ENDPOINTS } from '../endpoints.js';
import { PARAMETERS, type ParameterName } from '../parameters.js';
import { type Html, html } from './html.js';

/** The form that sends an operation. It stays hidden until the script of the page is loaded. */
export function tryIt(endpoint: Endpoint): Html {
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
    ${parameters.map((name) => parameterInput(name, operationId))}
    ${request && bodyInput(Object.values(request.examples))}
    <button>Send</button>
    <p class="result" role="status"></p>
    <pre class="received" tabindex="0" aria-label="Response" hidden></pre>
  </form>`;
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
