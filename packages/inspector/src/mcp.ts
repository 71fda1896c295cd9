import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type Facts, readTool, TOOLS } from './tools.js';
import { PACKAGE } from './where.js';

interface Message {
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly protocolVersion?: unknown; readonly name?: unknown; readonly arguments?: unknown };
}

const { name, version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as Record<string, string>;
const VERSIONS = ['2025-06-18', '2025-03-26', '2024-11-05'];
/** Each may ask for everything. */
const MOST_AT_ONCE = 20;
const INSTRUCTIONS =
  'The inspector of a running application. Begin with the tool `troubles`; `request` shows one of the requests that it names.';

/** The codes of JSON-RPC. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const NO_METHOD = -32_601;
const INVALID_PARAMS = -32_602;

/**
 * The facts of the inspector as tools of the Model Context Protocol: its transport "streamable HTTP", in which each message is a POST and each
 * response is JSON. There is no session and no stream, because no tool tells anything by itself.
 */
export class Mcp {
  readonly #facts: Facts;
  /** Records from now on; returns whether that began only now. */
  readonly #look: () => boolean;

  constructor(facts: Facts, look: () => boolean) {
    this.#facts = facts;
    this.#look = look;
  }

  /** @param text - the body; undefined if it was too long */
  handle(request: IncomingMessage, response: ServerResponse, text: string | undefined): void {
    // Clients ask by GET for a stream, and by DELETE for the end of a session: 405 says that there is neither.
    if (request.method !== 'POST') {
      response.setHeader('allow', 'POST');
      return fail(response, 405, INVALID_REQUEST, 'Only POST is allowed');
    }
    // A page of another site may send a POST, but neither this header nor this type of body.
    const { origin, host, 'content-type': type = '' } = request.headers;
    if (origin !== undefined && hostOf(origin) !== host)
      return fail(response, 403, INVALID_REQUEST, 'Not for pages of other sites');
    if (!/^application\/json\b/i.test(type)) return fail(response, 415, INVALID_REQUEST, 'Send application/json');
    if (text === undefined) return fail(response, 413, INVALID_REQUEST, 'The message is too long');
    const { 'mcp-protocol-version': spoken } = request.headers;
    if (spoken !== undefined && !VERSIONS.includes(String(spoken)))
      return fail(
        response,
        400,
        INVALID_REQUEST,
        `Not a version of the protocol that is spoken here: ${VERSIONS.join(', ')}`,
      );
    const messages = parsed(text);
    if (messages === undefined) return fail(response, 400, PARSE_ERROR, 'The message is no JSON');
    if (messages.length === 0 || messages.length > MOST_AT_ONCE || !messages.every(isMessage))
      return fail(response, 400, INVALID_REQUEST, `Not a message of JSON-RPC 2.0, or up to ${MOST_AT_ONCE} of them`);
    const replies = messages.flatMap((message) => this.#repliesTo(message));
    if (replies.length === 0) return void response.writeHead(202).end();
    send(response, 200, text.trimStart().startsWith('[') ? replies : replies[0]);
  }

  /** None to a notification, which has no id, and to a response, which nobody asked for. */
  #repliesTo({ id, method, params }: Message): object[] {
    if (id === undefined || typeof method !== 'string') return [];
    return [{ jsonrpc: '2.0', id, ...this.#resultOf(method, params ?? {}) }];
  }

  #resultOf(method: string, params: NonNullable<Message['params']>): { result: object } | { error: object } {
    if (method === 'ping') return { result: {} };
    if (method === 'initialize') return { result: initialized(params.protocolVersion) };
    if (method === 'tools/list') return { result: { tools: listed() } };
    if (method !== 'tools/call') return { error: { code: NO_METHOD, message: `There is no method '${method}'` } };
    if (typeof params.name !== 'string')
      return { error: { code: INVALID_PARAMS, message: 'params.name must be the name of a tool' } };
    const result = readTool(this.#facts, params.name, params.arguments, this.#look());
    const isError = 'problem' in result;
    const text = isError ? result.problem : JSON.stringify(result.value, rounded, 1);
    return { result: { content: [{ type: 'text', text }], isError } };
  }
}

function initialized(asked: unknown): object {
  return {
    protocolVersion: VERSIONS.find((one) => one === asked) ?? VERSIONS[0],
    capabilities: { tools: {} },
    serverInfo: { name, version },
    instructions: INSTRUCTIONS,
  };
}

function listed(): object[] {
  return Object.entries(TOOLS).map(([tool, { description, properties, required = [] }]) => ({
    name: tool,
    description,
    inputSchema: { type: 'object', properties, required, additionalProperties: false },
    annotations: { readOnlyHint: true },
  }));
}

/** Several may come in one array, as version 2025-03-26 allows. */
function parsed(text: string): unknown[] | undefined {
  try {
    return [JSON.parse(text) as unknown].flat();
  } catch {
    return undefined;
  }
}

function isMessage(one: unknown): one is Message {
  if (typeof one !== 'object' || one === null) return false;
  const { jsonrpc, id, method, params = {} } = one as Message;
  const hasId = typeof id === 'string' || typeof id === 'number';
  const isRequest = typeof method === 'string' && (hasId || id === undefined) && typeof params === 'object';
  return jsonrpc === '2.0' && (isRequest || (method === undefined && hasId && ('result' in one || 'error' in one)));
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

function fail(response: ServerResponse, status: number, code: number, message: string): void {
  send(response, status, { jsonrpc: '2.0', id: null, error: { code, message } });
}

function send(response: ServerResponse, status: number, message: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(message));
}

/** Milliseconds with fifteen digits are long to read, and say no more. */
function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value * 100) / 100 : value;
}
