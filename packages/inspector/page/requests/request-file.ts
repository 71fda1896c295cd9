import type { RequestDetails, ScopeSpan, Step } from '../../src/wire.js';

/** A problem of a file, in words for the person who chose it. */
class ProblemInFile extends Error {}

function record(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ProblemInFile(`“${name}” must be an object.`);
  return value as Readonly<Record<string, unknown>>;
}

function list(value: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(value) || value.length > 10_000) throw new ProblemInFile(`“${name}” must be a list.`);
  return value;
}

function text(value: unknown, name: string): string {
  if (typeof value !== 'string' || value.length > 100_000) throw new ProblemInFile(`“${name}” must be a text.`);
  return value;
}

/** A number from 0 on: durations, counts and times. */
function amount(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
    throw new ProblemInFile(`“${name}” must be a number from 0 on.`);
  return value;
}

/** An object with the field, or an empty one where the field is missing. */
function optional<K extends string, T>(
  from: Readonly<Record<string, unknown>>,
  name: K,
  read: (value: unknown, name: string) => T,
): { readonly [key in K]?: T } {
  const value = from[name];
  return value === undefined ? {} : ({ [name]: read(value, name) } as { readonly [key in K]: T });
}

const FORMAT = 'ambit inspector request';
const VERSION = 1;
const LONGEST = 5_000_000;

const STATES = ['open', 'responded', 'aborted'] as const;
const OUTCOMES = ['committed', 'refused', 'rolled back', 'unknown'] as const;
const KINDS = [
  'arrived',
  'scope opened',
  'created',
  'failed',
  'connection',
  'no connection',
  'begin',
  'statement',
  'commit',
  'rollback',
  'commit unknown',
  'finding',
  'line',
  'responded',
  'aborted',
  'disposed',
  'scope closed',
] as const satisfies readonly Step['kind'][];

export type ReadRequest = { readonly request: RequestDetails } | { readonly problem: string };

/** The content of a file with one request. */
export function writeRequest(request: RequestDetails, ref: string): string {
  return `${JSON.stringify({ format: FORMAT, version: VERSION, ref, request }, undefined, 2)}\n`;
}

/** Reads such a file, and takes only what it knows: anybody may have written it. */
export function readRequest(content: string): ReadRequest {
  if (content.length > LONGEST) return { problem: 'This file is too long to be a request: it has more than 5 MB.' };
  try {
    const file = record(parse(content), 'The file');
    if (file['format'] !== FORMAT)
      throw new ProblemInFile('This is not a request of the inspector: “format” is missing.');
    if (file['version'] !== VERSION)
      throw new ProblemInFile('This file was written by another version of the inspector.');
    return { request: requestOf(record(file['request'], 'request')) };
  } catch (error) {
    if (error instanceof ProblemInFile) return { problem: error.message };
    throw error;
  }
}

function parse(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    throw new ProblemInFile('This file is not JSON.');
  }
}

function requestOf(from: Readonly<Record<string, unknown>>): RequestDetails {
  const number = (name: string): number => amount(from[name], name);
  const spans = list(from['spans'], 'spans').map((span, i) => spanOf(record(span, `spans[${i}]`)));
  return {
    id: number('id'),
    ...optional(from, 'requestId', text),
    method: text(from['method'], 'method'),
    route: text(from['route'], 'route'),
    arrived: number('arrived'),
    state: oneOf(STATES, from['state'], 'state'),
    ...optional(from, 'status', amount),
    ...optional(from, 'milliseconds', amount),
    ...optional(from, 'outcome', (value, name) => oneOf(OUTCOMES, value, name)),
    open: number('open'),
    leaks: number('leaks'),
    findings: number('findings'),
    failures: number('failures'),
    statements: number('statements'),
    statementMs: number('statementMs'),
    alike: number('alike'),
    waited: number('waited'),
    // Names of another recording mean nothing here.
    texts: [],
    keys: [],
    trouble: from['trouble'] === true,
    spans,
    steps: list(from['steps'], 'steps').map((step, i) => stepOf(record(step, `steps[${i}]`), spans.length)),
    ...optional(from, 'elapsed', amount),
    dropped: number('dropped'),
  };
}

function spanOf(from: Readonly<Record<string, unknown>>): ScopeSpan {
  return {
    box: text(from['box'], 'box'),
    opened: amount(from['opened'], 'opened'),
    ...optional(from, 'closed', amount),
    ...optional(from, 'where', texts),
  };
}

function stepOf(from: Readonly<Record<string, unknown>>, spans: number): Step {
  return {
    kind: oneOf(KINDS, from['kind'], 'kind'),
    at: amount(from['at'], 'at'),
    ...optional(from, 'took', amount),
    ...optional(from, 'span', (value, name) => {
      const span = amount(value, name);
      if (!Number.isInteger(span) || span >= spans) throw new ProblemInFile(`There is no span ${span}.`);
      return span;
    }),
    ...optional(from, 'key', text),
    ...optional(from, 'path', texts),
    ...optional(from, 'sql', text),
    ...(from['outside'] === true && { outside: true }),
    ...optional(from, 'error', text),
    ...optional(from, 'found', text),
    ...optional(from, 'where', text),
    ...optional(from, 'line', (value, name) => {
      const line = record(value, name);
      return {
        source: text(line['source'], 'source'),
        level: text(line['level'], 'level'),
        text: text(line['text'], 'text'),
      };
    }),
  };
}

function texts(value: unknown, name: string): string[] {
  return list(value, name).map((one) => text(one, name));
}

function oneOf<T extends string>(known: readonly T[], value: unknown, name: string): T {
  const found = known.find((one) => one === value);
  if (found === undefined) throw new ProblemInFile(`“${name}” must be one of ${known.join(', ')}.`);
  return found;
}
