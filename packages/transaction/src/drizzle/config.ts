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

export function loggerOf(logger: boolean | Logger | undefined): { logger?: Logger } {
  if (!logger) return {};
  return { logger: logger === true ? new DefaultLogger() : logger };
}
