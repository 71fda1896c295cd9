import { parseArgs } from 'node:util';
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
  readonly token: string | undefined;
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
}

const FAILED = 1;
const MISUSED = 2;
const NO_PORT = 'Is the application running, and its inspector enabled? --url says where it is.';
const NO_INSPECTOR =
  'That is not what an inspector responds. --url says where it is, such as http://localhost:3000/inspector.';
const LONGEST_WAIT_MS = 30_000;

/** Runs the command `ambit`. Resolves to its exit code. */
export async function inspect(args: readonly string[], { token = '', print, complain }: Terminal): Promise<number> {
  if (args.some((one) => one === '--help' || one === '-h')) {
    print(USAGE);
    return 0;
  }
  const asked = read(args);
  if (!asked) {
    complain(USAGE);
    return MISUSED;
  }
  const { tool, url, json, given } = asked;
  const [method, params] = tool === 'tools' ? ['tools/list', {}] : ['tools/call', { name: tool, arguments: given }];
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const authorization = token === '' ? {} : { authorization: `Bearer ${token}` };
  let [status, type, text] = [0, '', ''];
  try {
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...authorization },
      signal: AbortSignal.timeout(LONGEST_WAIT_MS),
    });
    [status, type] = [response.status, response.headers.get('content-type') ?? ''];
    text = await response.text();
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === 'TimeoutError';
    return failed(
      complain,
      isLate
        ? `${url} has not responded within ${LONGEST_WAIT_MS / 1000} s: its process may be blocked.`
        : `There is no response at ${url}. ${NO_PORT}`,
    );
  }
  if (status === 401)
    return failed(
      complain,
      `${url} wants ${token === '' ? 'a token: set' : 'another token than that of'} INSPECTOR_TOKEN.`,
    );
  if (/^text\/plain\b/.test(type) && status >= 400)
    return failed(complain, `${url} responded ${status}: ${text.trim()}`);
  if (!/^application\/json\b/.test(type)) return failed(complain, `${url} responded ${status}. ${NO_INSPECTOR}`);
  return show(text, { tool, json, print, complain });
}

interface Shown extends Omit<Terminal, 'token'> {
  readonly tool: string;
  readonly json: boolean;
}

function show(text: string, { tool, json, print, complain }: Shown): number {
  const { result, error } = (parsed(text) ?? {}) as {
    error?: { message?: string };
    result?: { tools?: unknown; isError?: boolean; content?: readonly { text: string }[] };
  };
  const said = result?.content?.[0]?.text ?? JSON.stringify(result?.tools);
  if (said === undefined) return failed(complain, error?.message ?? NO_INSPECTOR);
  if (result?.isError) return failed(complain, said);
  const value = parsed(said);
  print(
    tool === 'troubles' && !json && Array.isArray(value)
      ? textOf(value as Trouble[])
      : JSON.stringify(value, undefined, json ? undefined : 2),
  );
  return 0;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function failed(complain: Terminal['complain'], why: string): number {
  complain(why);
  return FAILED;
}

function textOf(troubles: readonly Trouble[]): string {
  if (troubles.length === 0) return 'No trouble since the recording began.';
  return troubles.map(describe).join('\n\n');
}

function describe({ kind, cause, where, sql, fix, count, routes, requests }: Trouble): string {
  const lines = [
    where === undefined ? '' : `  at   ${where}`,
    sql === undefined ? '' : `  sql  ${sql}`,
    routes.length === 0 ? '' : `  on   ${routes.join(', ')} (newest requests: ${requests.join(', ')})`,
    `  fix  ${fix}`,
  ];
  return [`${kind} × ${count}: ${cause}`, ...lines.filter(Boolean)].join('\n');
}

interface Asked {
  readonly tool: string;
  readonly url: string;
  readonly json: boolean;
  readonly given: Readonly<Record<string, boolean | number | string>>;
}

/** Undefined where it was used wrongly. */
function read(args: readonly string[]): Asked | undefined {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        url: { type: 'string', default: 'http://localhost:3000/inspector' },
        json: { type: 'boolean', default: false },
        key: { type: 'string' },
        id: { type: 'string' },
        route: { type: 'string' },
        limit: { type: 'string' },
        trouble: { type: 'boolean' },
      },
    });
    const [command, tool = 'troubles', ...rest] = positionals;
    const { url, json, id, limit, ...texts } = values;
    if (command !== 'inspect' || rest.length > 0 || !URL.canParse(url)) return undefined;
    const numbers = Object.entries({ id, limit }).filter(([, value]) => value !== undefined);
    if (numbers.some(([, value]) => !/^\d+$/.test(value ?? ''))) return undefined;
    const given = { ...texts, ...Object.fromEntries(numbers.map(([name, value]) => [name, Number(value)])) };
    return { tool, url: url.replace(/\/$/, ''), json, given };
  } catch {
    return undefined;
  }
}
