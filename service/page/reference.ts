/** By operation: its parameters, each as an expression such as `$response.body#/0/id`. */
type Links = Readonly<Record<string, Readonly<Record<string, string>>>>;

const SHOWN_HEADERS = ['x-request-id', 'idempotency-replayed', 'retry-after', 'allow', 'www-authenticate'];

const formOf = (operation: string | undefined): HTMLFormElement | null =>
  document.querySelector(`form[data-operation="${operation}"]`);

const inputsOf = (form: HTMLFormElement): HTMLInputElement[] => [...form.querySelectorAll('input')];

for (const form of document.forms) {
  form.hidden = false;
  const [select, body] = [form.querySelector('select'), form.querySelector('textarea')];
  select?.addEventListener('change', () => {
    if (body) body.value = select.value;
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (form.dataset['path'] !== undefined) void submit(form);
  });
}

async function submit(form: HTMLFormElement): Promise<void> {
  // An id that only the service can make comes from the operation that lists it.
  for (const input of inputsOf(form)) {
    const source = formOf(input.dataset['source']);
    if (!source || input.value !== '') continue;
    await send(source);
    if (input.value === '') return show(form, 'There is none yet: create one first');
  }
  await send(form);
}

async function send(form: HTMLFormElement): Promise<void> {
  const { method = 'GET' } = form.dataset;
  const body = form.querySelector('textarea')?.value;
  const button = form.querySelector('button');
  const start = performance.now();
  button?.toggleAttribute('disabled', true);
  show(form, 'Sending …');
  try {
    const response = await fetch(addressOf(form), { method, headers: headersOf(form), ...(body && { body }) });
    const text = await response.text();
    const ms = Math.round(performance.now() - start);
    show(form, `${response.status} ${response.statusText}, ${ms} ms`, response, text);
  } catch (error) {
    show(form, `The request could not be sent: ${String(error)}`);
  } finally {
    button?.toggleAttribute('disabled', false);
  }
}

function addressOf(form: HTMLFormElement): string {
  const { path = '' } = form.dataset;
  const given = inputsOf(form).filter(({ value }) => value !== '');
  const query = given.filter((input) => input.dataset['in'] === 'query').map(({ name, value }) => [name, value]);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, wanted) =>
    encodeURIComponent(given.find(({ name }) => name === wanted)?.value ?? ''),
  );
  return query.length > 0 ? `${filled}?${new URLSearchParams(query).toString()}` : filled;
}

function headersOf(form: HTMLFormElement): Record<string, string> {
  const given = inputsOf(form).filter((input) => input.dataset['in'] === 'header' && input.value !== '');
  const credentials = document.querySelector<HTMLInputElement>('#authorization')?.value;
  return {
    ...(form.querySelector('textarea') && { 'content-type': 'application/json' }),
    ...(credentials && { authorization: credentials }),
    ...Object.fromEntries(given.map(({ name, value }) => [name, value])),
  };
}

function show(form: HTMLFormElement, result: string, response?: Response, text = ''): void {
  const [status, received] = [form.querySelector('.result'), form.querySelector<HTMLElement>('.received')];
  if (!status || !received) return;
  status.textContent = result;
  status.classList.toggle('bad', response !== undefined && !response.ok);
  received.hidden = response === undefined;
  if (!response) return;
  const value = parsed(text);
  const headers = SHOWN_HEADERS.filter((name) => response.headers.has(name)).map(
    (name) => `${name}: ${response.headers.get(name)}`,
  );
  received.textContent = [...headers, '', value === undefined ? text : JSON.stringify(value, undefined, 2)].join('\n');
  if (response.ok) follow(JSON.parse(form.dataset['links'] ?? '{}') as Links, value);
}

/** Fills the fields of other operations with what this response has for them. */
function follow(links: Links, value: unknown): void {
  for (const [operation, parameters] of Object.entries(links)) {
    const form = formOf(operation);
    for (const input of form ? inputsOf(form) : []) {
      const found = at(value, parameters[input.name]);
      if (typeof found === 'string' || typeof found === 'number') input.value = String(found);
    }
  }
}

/** The part of a body that an expression names. */
function at(body: unknown, expression = ''): unknown {
  const [, pointer] = expression.split('#/');
  return pointer
    ?.split('/')
    .reduce<unknown>((part, step) => (part as Record<string, unknown> | undefined)?.[step], body);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
