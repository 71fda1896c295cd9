/** Sends what the form has, and shows the response. */
async function send(form) {
  const { method, path } = form.dataset;
  const [query, headers] = [new URLSearchParams(), new Headers()];
  let target = path;
  for (const { name, value, dataset } of form.querySelectorAll('input')) {
    if (value === '') continue;
    if (dataset.in === 'path') target = target.replace(`{${name}}`, encodeURIComponent(value));
    else if (dataset.in === 'query') query.set(name, value);
    else headers.set(name, value);
  }
  const body = form.elements.namedItem('body')?.value;
  if (body !== undefined) headers.set('content-type', 'application/json');
  const credentials = document.querySelector('#authorization')?.value;
  if (credentials) headers.set('authorization', credentials);
  const output = form.querySelector('output');
  const received = form.querySelector('pre');
  try {
    const response = await fetch(query.size > 0 ? `${target}?${query}` : target, { method, headers, body });
    const text = await response.text();
    const shown = ['x-request-id', 'idempotency-replayed', 'retry-after', 'cache-status']
      .filter((name) => response.headers.has(name))
      .map((name) => `${name}: ${response.headers.get(name)}`);
    output.textContent = [`${response.status} ${response.statusText}`, ...shown].join(', ');
    const record = response.headers.get('x-debug-token-link');
    if (record) {
      const link = Object.assign(document.createElement('a'), { href: record, textContent: 'Show in the inspector' });
      output.append(', ', link);
    }
    received.textContent = text;
    received.hidden = false;
  } catch (error) {
    output.textContent = `The request could not be sent: ${String(error)}`;
  }
}

for (const form of document.querySelectorAll('form')) {
  form.querySelector('button').hidden = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(form);
  });
}
