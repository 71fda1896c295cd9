import { TransactionError } from './errors.js';
import { checkFunction } from './options.js';

/** A schema of any library that implements Standard Schema v1 (https://standardschema.dev), such as zod, valibot and arktype. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The part that all libraries agree on. */
  readonly '~standard': {
    /** Always 1. */
    readonly version: 1;
    /** The library. */
    readonly vendor: string;
    /** Checks a value; some schemas do so asynchronously. */
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** For the compiler only. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** The value, or the places that do not fit. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/**
 * The value as a schema returns it. A refusal names the places, and neither values nor the messages of the library, which may quote them.
 *
 * @param schema - of any library
 * @param value - what is checked
 * @param what - the subject of the message
 * @returns the value, with the defaults and conversions of the schema
 * @throws `TransactionError` `AMBIT_TX_PARAMETER`: the value does not fit
 * @throws what the schema throws
 */
export async function valueBy<Output>(
  schema: StandardSchema<unknown, Output>,
  value: unknown,
  what: string,
): Promise<Output> {
  const result = await schema['~standard'].validate(value);
  if (!result.issues) return result.value;
  const paths = result.issues.map(({ path = [] }) =>
    path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.'),
  );
  const places = [...new Set(paths.map((path) => path || 'the whole'))].join(', ');
  throw new TransactionError('AMBIT_TX_PARAMETER', `${what} does not fit its schema at: ${places}`);
}

/**
 * Refuses what is no schema.
 *
 * @param name - the option, for the message
 * @param schema - what the application passed
 * @throws `TransactionError` `AMBIT_OPTION`: it does not implement Standard Schema
 */
export function checkSchema(name: string, schema: unknown): void {
  const standard = (Object(schema) as Partial<StandardSchema>)['~standard'];
  checkFunction(`${name}['~standard'].validate`, standard?.validate, { required: true });
}
