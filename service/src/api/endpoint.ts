import type { TSchema } from 'typebox';
import { ErrorBody } from '../http/response.js';
import type { AnswerHeader } from './headers.js';
import type { ParameterName } from './parameters.js';

/** Values by name: each is valid, and each is sent by a test. */
type Examples = Readonly<Record<string, unknown>>;

interface Content {
  readonly schema: TSchema;
  readonly examples: Examples;
}

export interface EndpointAnswer extends Content {
  readonly description: string;
  /** Besides x-request-id, which every answer has. */
  readonly headers: readonly AnswerHeader[];
}

/** One operation of the API: what may be asked, and everything that may be answered, but for 405, which all have. */
export interface Endpoint {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly ParameterName[];
  readonly request?: Content;
  readonly answers: Readonly<Record<number, EndpointAnswer>>;
}

/** `examples` are the messages, each by a name for the case. */
export function problem(
  description: string,
  examples: Readonly<Record<string, string>>,
  headers: readonly AnswerHeader[] = [],
): EndpointAnswer {
  const bodies = Object.entries(examples).map(([name, error]) => [name, { error }]);
  return { description, headers, schema: ErrorBody, examples: Object.fromEntries(bodies) };
}
