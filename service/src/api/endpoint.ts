import type { TSchema } from 'typebox';
import { ErrorBody } from '../http/response.js';
import type { ResponseHeader } from './headers.js';
import type { ParameterName } from './parameters.js';

export interface Example {
  readonly summary: string;
  readonly value: unknown;
}

/** By name: each value is valid, and a test sends each. */
type Examples = Readonly<Record<string, Example>>;

/** What a request was and the message of its error. */
export type Case = readonly [summary: string, error: string];

interface Content {
  readonly schema: TSchema;
  readonly examples: Examples;
}

export interface EndpointResponse extends Content {
  readonly description: string;
  /** In addition to x-request-id, which every response has. */
  readonly headers: readonly ResponseHeader[];
  /** By operation: its parameters, as OpenAPI's expressions over this response. */
  readonly links?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** One operation of the API, with its request and all its responses except 401, which every operation has. */
export interface Endpoint {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly ParameterName[];
  readonly request?: Content;
  readonly responses: Readonly<Record<number, EndpointResponse>>;
}

export function problem(
  description: string,
  cases: Readonly<Record<string, Case>>,
  headers: readonly ResponseHeader[] = [],
): EndpointResponse {
  const examples = Object.entries(cases).map(([name, [summary, error]]) => [name, { summary, value: { error } }]);
  return { description, headers, schema: ErrorBody, examples: Object.fromEntries(examples) };
}
