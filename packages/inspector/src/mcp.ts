import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type Call, jsonOf, TOOLS } from './tools.js';
import { PACKAGE } from './where.js';

interface Message {
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly method: string;
  readonly params?: { readonly name?: unknown; readonly arguments?: unknown };
}

const { name, version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as Record<string, string>;
/** A client that speaks an older version only says so, and is not served. */
const PROTOCOL = '2025-06-18';

const SERVER = {
  protocolVersion: PROTOCOL,
  capabilities: { tools: {} },
  serverInfo: { name, version },
  instructions:
    'The inspector of a running application. Begin with the tool `troubles`; `request` shows one of the requests that it names.',
};
const LISTED = Object.entries(TOOLS).map(([tool, { description, properties, required = [] }]) => ({
  name: tool,
  description,
  inputSchema: { type: 'object', properties, required, additionalProperties: false },
  annotations: { readOnlyHint: true },
}));
/** The results of the methods that ask nothing of the application. */
const RESULTS = new Map<string, object>([
  ['initialize', SERVER],
  ['ping', {}],
  ['tools/list', { tools: LISTED }],
]);

const LONGEST_MESSAGE = 65_536;
/** The codes of JSON-RPC. */
const CODES = { noJson: -32_700, invalidRequest: -32_600, noMethod: -32_601, invalidParams: -32_602 };

/**
 * The facts of the inspector as tools of the Model Context Protocol: its transport "streamable HTTP", in which each message is a POST and each
 * response is JSON. There is no session and no stream, because no tool tells anything by itself.
 */
export async function handleMcp(request: IncomingMessage, response: ServerResponse, call: Call): Promise<void> {
  const { method, headers } = request;
  const text = await bodyOf(request);
  const fail = (status: number, message: string, code = CODES.invalidRequest): void =>
    send(response, status, { jsonrpc: '2.0', id: null, error: { code, message } });
  // Clients ask by GET for a stream, and by DELETE for the end of a session: 405 says that there is neither.
  if (method !== 'POST') return fail(405, 'Only POST is allowed');
  // A page of another site may send a POST, but neither this header nor this type of body.
  const { origin, host, 'content-type': type = '', 'mcp-protocol-version': spoken = PROTOCOL } = headers;
  if (origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host))
    return fail(403, 'Not for pages of other sites');
  if (!/^application\/json\b/i.test(type)) return fail(415, 'Send application/json');
  if (text === undefined) return fail(413, 'The message is too long');
  if (spoken !== PROTOCOL) return fail(400, `The version of the protocol that is spoken here is ${PROTOCOL}`);
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return fail(400, 'The message is no JSON', CODES.noJson);
  }
  if (!isMessage(message)) return fail(400, 'Not one message of JSON-RPC 2.0');
  // A notification has no id, and nobody asked for a response.
  if (message.id === undefined) return void response.writeHead(202).end();
  send(response, 200, { jsonrpc: '2.0', id: message.id, ...(await resultOf(message, call)) });
}

async function resultOf({ method, params = {} }: Message, call: Call): Promise<object> {
  const result = RESULTS.get(method);
  if (result) return { result };
  if (method !== 'tools/call') return { error: { code: CODES.noMethod, message: `There is no method '${method}'` } };
  if (typeof params.name !== 'string')
    return { error: { code: CODES.invalidParams, message: 'params.name must be the name of a tool' } };
  const read = await call(params.name, params.arguments);
  const isError = 'problem' in read;
  const text = isError ? read.problem : jsonOf(read.value, 1);
  return { result: { content: [{ type: 'text', text }], isError } };
}

/** A request or a notification: nothing is asked of a client, so none responds. */
function isMessage(one: unknown): one is Message {
  const { jsonrpc, id, method, params = {} } = Object(one) as Message;
  const isId = ['string', 'number', 'undefined'].includes(typeof id);
  return jsonrpc === '2.0' && isId && typeof method === 'string' && typeof params === 'object';
}

/** Undefined if it is too long. It is read to its end all the same: stopping would close the connection before the response. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length <= LONGEST_MESSAGE) parts.push(part);
  }
  return length <= LONGEST_MESSAGE ? Buffer.concat(parts).toString() : undefined;
}

function send(response: ServerResponse, status: number, message: unknown): void {
  const headers = { 'content-type': 'application/json', ...(status === 405 && { allow: 'POST' }) };
  response.writeHead(status, headers).end(JSON.stringify(message));
}
