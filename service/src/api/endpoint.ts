import type { TSchema } from 'typebox';
import { ErrorBody } from '../http/response.js';
import type { ResponseHeader } from './headers.js';
import type { ParameterName } from './parameters.js';

/** Values by name: each is valid, and a test sends each. */
type Examples = Readonly<Record<string, unknown>>;

interface Content {
  readonly schema: TSchema;
  readonly examples: Examples;
}

export interface EndpointResponse extends Content {
  readonly description: string;
  /** In addition to x-request-id, which every response has. */
  readonly headers: readonly ResponseHeader[];
}

/** One operation of the API, with its request and all its responses except 405, which every operation has. */
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

/** `examples` are the error messages by the name of their case. */
export function problem(
  description: string,
  examples: Readonly<Record<string, string>>,
  headers: readonly ResponseHeader[] = [],
): EndpointResponse {
  const bodies = Object.entries(examples).map(([name, error]) => [name, { error }]);
  return { description, headers, schema: ErrorBody, examples: Object.fromEntries(bodies) };
}
