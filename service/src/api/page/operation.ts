import type { Endpoint, EndpointResponse } from '../endpoint.js';
import { RESPONSE_HEADERS } from '../headers.js';
import { PARAMETERS } from '../parameters.js';
import { CALLER_REFUSED } from '../problems.js';
import { type Html, html, prose } from './html.js';
import { fieldList, fieldsOf } from './schema.js';
import { tryIt } from './try-it.js';

/** One operation: what it takes, what it responds, and a form that sends it. */
export function operationSection(endpoint: Endpoint, authenticates: boolean): Html {
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
