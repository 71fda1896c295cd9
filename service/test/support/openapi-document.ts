import { openApiDocument } from '../../src/api/document.js';
import type { Request } from './http.js';

interface Ref {
  readonly $ref: string;
}

type Schema = Readonly<Record<string, unknown>>;

interface Content {
  readonly 'application/json': {
    readonly schema: Schema;
    readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
  };
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header' | 'cookie';
  readonly schema: Schema;
  readonly example?: string | number;
}

interface Header {
  readonly required?: boolean;
}

interface Response {
  readonly headers: Readonly<Record<string, Ref>>;
  readonly content: Content;
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Ref[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, Response | Ref>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly headers: Readonly<Record<string, Header>>;
  };
}

/** The document as it is sent. */
export const document = JSON.parse(JSON.stringify(openApiDocument())) as Document;

/** The part of the document that a reference names, with the references within it resolved. */
function resolved<T>(part: unknown): T {
  if (Array.isArray(part)) return part.map((inner) => resolved(inner)) as T;
  if (typeof part !== 'object' || part === null) return part as T;
  if ('$ref' in part) return resolved(at(String(part.$ref)));
  return Object.fromEntries(Object.entries(part).map(([name, inner]) => [name, resolved(inner)])) as T;
}

function at(ref: string): unknown {
  const steps = ref.slice('#/'.length).split('/');
  return steps.reduce<unknown>((part, step) => (part as Record<string, unknown>)[step], document);
}

/** What the document says about one response, by the name of its example. */
export interface DocumentedResponse {
  readonly status: number;
  readonly name: string;
  readonly example: unknown;
  readonly schema: Schema;
  readonly headers: readonly string[];
}

export interface DocumentedOperation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly request: { readonly schema: Schema; readonly examples: Readonly<Record<string, unknown>> } | undefined;
  readonly statuses: readonly number[];
  /** By status and example. */
  readonly responses: readonly DocumentedResponse[];
}

export const operations: readonly DocumentedOperation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    operationId: operation.operationId,
    method: method.toUpperCase(),
    path,
    parameters: resolved<Parameter[]>(operation.parameters ?? []),
    request: operation.requestBody && contentOf(operation.requestBody.content),
    statuses: Object.keys(operation.responses).map(Number),
    responses: Object.entries(operation.responses).flatMap(([status, response]) =>
      responsesOf(Number(status), '$ref' in response ? (at(response.$ref) as Response) : response),
    ),
  })),
);

function responsesOf(status: number, { headers, content }: Response): DocumentedResponse[] {
  const { schema, examples } = contentOf(content);
  return Object.entries(examples).map(([name, example]) => {
    return { status, name, example, schema, headers: Object.keys(headers) };
  });
}

function contentOf({ 'application/json': { schema, examples } }: Content): {
  schema: Schema;
  examples: Record<string, unknown>;
} {
  const values = Object.entries(examples).map(([name, { value }]) => [name, value]);
  return { schema: resolved<Schema>(schema), examples: Object.fromEntries(values) };
}

/** A request for the operation, made of its examples, with only what is required. */
export function exampleRequest({ method, path, parameters, request }: DocumentedOperation, name?: string): Request {
  const bodies = request?.examples ?? {};
  const body = name !== undefined && name in bodies ? bodies[name] : Object.values(bodies)[0];
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, wanted) =>
    valueOf(parameters.find((parameter) => parameter.name === wanted)),
  );
  return { method, path: filled, ...(body !== undefined && { body }) };
}

/** Values for the parameters that have no example. */
const VALUES: Readonly<Record<string, string>> = {
  id: '019a9f3e-7c1b-7d52-9c3b-2f6f1f0a4b11',
};

function valueOf(parameter: Parameter | undefined): string {
  return String(parameter?.example ?? VALUES[parameter?.name ?? '']);
}
