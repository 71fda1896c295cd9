import { AsyncLocalStorage } from 'node:async_hooks';
import { Readable } from 'node:stream';
import * as slonik from 'slonik';
import type { DriverFactory, DriverTypeParser } from 'slonik';
import type { ExecuteOptions, ExecuteResult } from '@ambit/transaction';
import { executeOn, isTransactionControl, withCallersStack } from '@ambit/transaction/extension';
import { refusalOf } from '../errors.js';
import { parseArray, TYPES, type TypeNumbers } from '../postgres-types.js';
import { StatementTransaction } from '../statement-transaction.js';
import { executorOf, hasCursor, ownTransaction, resultsInChunks, type Target } from '../target.js';
import { checkExports } from '../versions.js';

const { createDriverFactory, createPool } = slonik;
checkExports('slonik', 'slonik 46, 47, 48 or 49', { createDriverFactory, createPool });

type Row = Record<string, unknown>;
type Types = Required<ExecuteOptions>['types'];
type Parse = (text: string) => unknown;
type Setup = Parameters<typeof createDriverFactory>[0];
type PoolClient = Awaited<ReturnType<Awaited<ReturnType<Setup>>['createPoolClient']>>;
type QueryResult = Awaited<ReturnType<PoolClient['query']>>;

const ROWS_AT_A_TIME = 100;

/** A transaction of slonik that is about to begin. It does not say on which of its clients; the client says so here. */
interface Beginning {
  nested?: StatementTransaction;
}
const beginning = new AsyncLocalStorage<Beginning>();

/** Does `begin` so that the code of a transaction which begins in it becomes part of the nested run. */
export function beginNested<T>(begin: (within: <R>(work: () => R) => R) => T): T {
  const begun: Beginning = {};
  return beginning.run(begun, () => begin((work) => (begun.nested ? begun.nested.within(work) : work())));
}

/** Slonik's driver, whose clients all send to one target. */
export function driverOn(target: Target): DriverFactory {
  return createDriverFactory(async ({ driverConfiguration }) => {
    const types = await typesOf(driverConfiguration.typeParsers, target);
    return { createPoolClient: async () => clientOn(target, types) };
  });
}

/** What slonik takes for a connection. */
function clientOn(target: Target, types: Types): PoolClient {
  const { transaction } = target;
  const nested = transaction && new StatementTransaction(transaction);

  const within = <T>(work: () => T): T => (nested ? nested.within(work) : work());

  async function control(sql: string): Promise<QueryResult> {
    if (!nested) throw ownTransaction('slonik', 'slonikOn');
    if ((await nested.control(sql)) === 'BEGIN') {
      const begun = beginning.getStore();
      if (begun) begun.nested ??= nested;
    }
    return resultOf({ rows: [], rowCount: null, command: 'SELECT', fields: [] });
  }

  async function query(sql: string, values?: readonly unknown[]): Promise<QueryResult> {
    try {
      if (isTransactionControl(sql)) return await control(sql);
      return resultOf(await within(() => executeOn<Row>(executorOf(target), sql, values, { types })));
    } catch (error) {
      throw slonikErrorOf(error, sql, values);
    }
  }

  async function* results(sql: string, values: readonly unknown[]): AsyncGenerator<ExecuteResult<Row>> {
    if (!transaction || !hasCursor(sql)) {
      yield within(() => executeOn<Row>(executorOf(target), sql, values, { types }));
      return;
    }
    const chunks = resultsInChunks<Row>(transaction.connection, sql, values, ROWS_AT_A_TIME, { types });
    const next = (): ReturnType<typeof chunks.next> => within(() => chunks.next());
    try {
      for (let chunk = await next(); !chunk.done; chunk = await next()) yield chunk.value;
    } finally {
      await within(() => chunks.return());
    }
  }

  async function* rows(sql: string, values: readonly unknown[]): AsyncGenerator<object> {
    try {
      for await (const result of results(sql, values)) {
        const { fields, rows: given } = resultOf(result);
        for (const row of given) yield { fields, row };
      }
    } catch (error) {
      throw slonikErrorOf(error, sql, values);
    }
  }

  return {
    connect: () => Promise.resolve(),
    end: () => Promise.resolve(),
    query,
    stream: (sql, values = []) => Readable.from(rows(sql, values)),
  };
}

function resultOf({ rows, rowCount, command, fields }: ExecuteResult<Row>): QueryResult {
  return {
    command: command as QueryResult['command'],
    fields: fields.map(({ name, dataTypeID = 0 }) => ({ name, dataTypeId: dataTypeID })),
    rowCount,
    rows,
  };
}

/** By slonik's parsers, whose numbers of types are read from the database at most once. */
const known = new WeakMap<readonly DriverTypeParser[], Types>();

async function typesOf(parsers: readonly DriverTypeParser[], target: Target): Promise<Types> {
  const cached = known.get(parsers);
  if (cached) return cached;
  const created = parsers.map(({ name }) => name).filter((name) => !TYPES.has(name));
  const numbers = new Map([...TYPES, ...(created.length > 0 ? await numbersOf(created, target) : [])]);
  const byNumber = new Map<number, Parse>();
  for (const { name, parse } of parsers) {
    const type = numbers.get(name);
    if (!type) throw new Error(`Database type "${name}" not found.`);
    byNumber.set(type.oid, parse);
    byNumber.set(type.arrayOid, (text) => parseArray(text, parse));
  }
  const types: Types = { getTypeParser: (oid) => byNumber.get(oid) };
  known.set(parsers, types);
  return types;
}

async function numbersOf(names: readonly string[], target: Target): Promise<Map<string, TypeNumbers>> {
  const sql = `SELECT typname AS name, oid::int4, typarray::int4 AS "arrayOid" FROM pg_type WHERE typname = ANY($1)`;
  const { rows } = await executeOn<TypeNumbers & { name: string }>(executorOf(target), sql, [names]);
  return new Map(rows.map(({ name, ...numbers }) => [name, numbers]));
}

/** As slonik's own driver makes them, by the SQLSTATE. */
const CLASSES: Readonly<Record<string, (cause: Error, sql: string, values: readonly unknown[]) => Error>> = {
  '22P02': (cause) => new slonik.InvalidInputError(cause.message, { cause }),
  '23502': (cause) => new slonik.NotNullIntegrityConstraintViolationError(cause),
  '23503': (cause) => new slonik.ForeignKeyIntegrityConstraintViolationError(cause),
  '23505': (cause) => new slonik.UniqueIntegrityConstraintViolationError(cause),
  '23514': (cause) => new slonik.CheckIntegrityConstraintViolationError(cause),
  '23P01': (cause) => new slonik.CheckExclusionConstraintViolationError(cause),
  '42601': (cause, sql, values) => new slonik.InputSyntaxError(cause, { sql, values: values as never }),
};

function slonikErrorOf(error: unknown, sql: string, values: readonly unknown[] = []): unknown {
  const refusal = refusalOf(error);
  if (!refusal) return withCallersStack(error);
  const { message, code = '', ...fields } = refusal.pg;
  const cause = Object.assign(new Error(message), { code, ...fields }, refusal.outcome);
  const wrapped = CLASSES[code]?.(cause, sql, values);
  const { cause: _ours, ...outcome } = refusal.outcome;
  return wrapped ? Object.assign(wrapped, outcome) : cause;
}
