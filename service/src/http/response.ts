import { type Static, Type } from 'typebox';

/** What a use case or a route responds; each host sends it in its own way. */
export interface HttpResponse<T = unknown> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: T;
}

/** The body of every error response. */
export const ErrorBody = Type.Object(
  { error: Type.String({ description: 'What is wrong, in one sentence for a developer.' }) },
  { additionalProperties: false },
);
export type ErrorBody = Static<typeof ErrorBody>;

export const JSON_TYPE = 'application/json; charset=utf-8';

/** A response with its text, for where no framework writes JSON. */
export const jsonResponse = (status: number, value: unknown): HttpResponse<string> =>
  textResponse(status, JSON_TYPE, JSON.stringify(value));

export function textResponse(status: number, type: string, body: string): HttpResponse<string> {
  return { status, headers: { 'content-type': type, 'content-length': String(Buffer.byteLength(body)) }, body };
}
