import { parseArgs } from 'node:util';
import { ms } from './names.js';
import { TOOLS } from './tools.js';
import type { Trouble } from './wire.js';

const USAGE = `Usage: ambit inspect [tool] [--url http://localhost:3000/inspector] [--json] [--<argument> <value> ...]

Says what is wrong in a running application, from its inspector.
  ambit inspect                       the troubles, grouped by cause
  ambit inspect request --id 42       one request
  ambit inspect explain --key IUsers  how a key is resolved
  ambit inspect tools                 all tools, with their arguments
--json prints data. INSPECTOR_TOKEN is the token of the inspector, where it has one.
It exits with 0 whether or not there are troubles, with 1 if they could not be read, and with 2 if it was called wrongly.`;

interface Terminal {
  /** By default that of the environment. */
  readonly token?: string | undefined;
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
}

const OPTIONS = {
  help: { type: 'boolean', short: 'h', default: false },
  url: { type: 'string', default: 'http://localhost:3000/inspector' },
  json: { type: 'boolean', default: false },
} as const;
const PROPERTIES = Object.values(TOOLS).flatMap(({ properties }) => Object.entries(properties));
const ARGUMENTS = Object.fromEntries(
  PROPERTIES.map(([name, { type }]) => [name, { type: type === 'boolean' ? type : 'string' } as const]),
);
const LONGEST_WAIT_MS = 30_000;

/** Runs `ambit inspect` with the arguments behind it. Resolves to its exit code. */
export async function command(args: readonly string[], { token, print, complain }: Terminal): Promise<number> {
  const asked = read(args);
  if (!asked) {
    complain(USAGE);
    return 2;
  }
  try {
    print(asked.help ? USAGE : textOf(await called(asked, token ?? process.env['INSPECTOR_TOKEN'] ?? ''), asked));
    return 0;
  } catch (error) {
    complain(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

type Asked = NonNullable<ReturnType<typeof read>>;

/** Undefined where it was used wrongly. */
function read(args: readonly string[]) {
  try {
    const options = { ...ARGUMENTS, ...OPTIONS };
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
    const [tool = 'troubles', ...rest] = positionals;
    const { help, url, json, ...given } = values;
    return rest.length === 0 && URL.canParse(url)
      ? { tool, help, url: url.replace(/\/$/, ''), json, given }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Throws an Error whose message says why there is no result. */
async function called({ tool, url, given }: Asked, token: string): Promise<unknown> {
  if (tool === 'tools') return TOOLS;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) query.set(name, String(value));
  const response = await fetch(`${url}/${tool}?${query.toString()}`, {
    headers: token === '' ? {} : { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(LONGEST_WAIT_MS),
  }).catch((error: unknown) => {
    throw error instanceof DOMException && error.name === 'TimeoutError'
      ? new Error(`${url} has not responded within ${LONGEST_WAIT_MS / 1000} s: its process may be blocked.`)
      : new Error(`There is no response at ${url}. Is the application running, and its inspector enabled?`);
  });
  const type = response.headers.get('content-type') ?? '';
  if (response.ok && type.startsWith('application/json')) return response.json();
  if (response.status === 401)
    throw new Error(`${url} wants ${token === '' ? 'a token: set' : 'another token than that of'} INSPECTOR_TOKEN.`);
  if (!response.ok && type.startsWith('text/plain'))
    throw new Error(`${url} responded ${response.status}: ${(await response.text()).trim()}`);
  throw new Error(`${url} is no inspector. --url says where it is, such as http://localhost:3000/inspector.`);
}

function textOf(value: unknown, { tool, json }: Asked): string {
  if (json || !Array.isArray(value)) return JSON.stringify(value, undefined, json ? 0 : 2);
  if (tool !== 'troubles') return value.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n');
  if (value.length === 0) return 'No trouble since the recording began.';
  const troubles = value as Trouble[];
  const failed = troubles.reduce((sum, one) => sum + one.failed, 0);
  const many = `${troubles.length} ${troubles.length === 1 ? 'trouble' : 'troubles'}, the most harmful first`;
  return [`${many}${failed > 0 ? `; ${failed} times a request failed` : ''}:`, ...troubles.map(describe)].join('\n\n');
}

function describe({ kind, cause, where, caller, sql, fix, count, failed, lost, routes, requests }: Trouble): string {
  const harm = `${failed > 0 ? `, ${failed} failed` : ''}${lost >= 1 ? `, ${ms(lost)}` : ''}`;
  const lines = [
    `${kind} × ${count}${harm}: ${cause}`,
    where !== undefined && `  at   ${where}${caller === undefined ? '' : `, called by ${caller}`}`,
    sql !== undefined && `  sql  ${sql}`,
    routes.length > 0 && `  on   ${routes.join(', ')} (newest requests: ${requests.join(', ')})`,
    `  fix  ${fix}`,
  ];
  return lines.filter((line) => line !== false).join('\n');
}
