import * as drizzle from 'drizzle-orm';
import type {
  DrizzleConfig,
  ExtractTablesWithRelations,
  Logger,
  RelationalSchemaConfig,
  TablesRelationalConfig,
} from 'drizzle-orm';
import { withOutcomeOf } from '../errors.js';
import { checkExports } from '../versions.js';

// Drizzle 1.0 has other relations, and other sessions behind them.
const { createTableRelationsHelpers, DefaultLogger, extractTablesRelationalConfig } = drizzle;
checkExports('drizzle-orm', 'drizzle-orm 0.43, 0.44 or 0.45', {
  createTableRelationsHelpers,
  extractTablesRelationalConfig,
});

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

/** Drizzle wraps every error in one of its own, which has no status: these methods of a query give it that of its cause. */
export function reporting<Query extends object>(query: Query, methods: readonly (keyof Query)[]): Query {
  const own = query as Record<keyof Query, (values?: Record<string, unknown>) => Promise<unknown>>;
  for (const method of methods) {
    const execute = own[method].bind(query);
    own[method] = (values) =>
      execute(values).catch((error: unknown) => {
        throw withOutcomeOf((error as Error | undefined)?.cause, error);
      });
  }
  return query;
}
