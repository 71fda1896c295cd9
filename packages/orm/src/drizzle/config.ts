import {
  createTableRelationsHelpers,
  DefaultLogger,
  type DrizzleConfig,
  extractTablesRelationalConfig,
  type ExtractTablesWithRelations,
  type Logger,
  type RelationalSchemaConfig,
  type TablesRelationalConfig,
} from 'drizzle-orm';
import { withOutcomeOf } from '../errors.js';

/**
 * As for `drizzle()`, without `cache`: a cache would give rows of other transactions, and be invalidated before COMMIT.
 */
export type DrizzleOptions<Schema extends Record<string, unknown> = Record<string, never>> = Omit<
  DrizzleConfig<Schema>,
  'cache'
>;

/** The tables and relations of a schema, as Drizzle's databases and sessions take them. */
export type Relations<Schema extends Record<string, unknown>> =
  | RelationalSchemaConfig<ExtractTablesWithRelations<Schema>>
  | undefined;

/** Drizzle reads every table to find the relations, so that is done once per schema and not per transaction. */
const known = new WeakMap<object, RelationalSchemaConfig<TablesRelationalConfig>>();

export function relationsOf<Schema extends Record<string, unknown>>(schema: Schema | undefined): Relations<Schema> {
  if (!schema) return undefined;
  let relations = known.get(schema);
  if (!relations) {
    const { tables, tableNamesMap } = extractTablesRelationalConfig(schema, createTableRelationsHelpers);
    known.set(schema, (relations = { fullSchema: schema, schema: tables, tableNamesMap }));
  }
  return relations as Relations<Schema>;
}

export function loggerOf(logger: boolean | Logger | undefined): Logger | undefined {
  if (!logger) return undefined;
  return logger === true ? new DefaultLogger() : logger;
}

/** Drizzle wraps every error in one of its own, which has no status. */
export async function reported<T>(execute: () => Promise<T>): Promise<T> {
  try {
    return await execute();
  } catch (error) {
    throw withOutcomeOf((error as Error | undefined)?.cause, error);
  }
}
