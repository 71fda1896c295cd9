import { withoutLiterals } from '@ambit/transaction/host';
import type { Attributes } from '@opentelemetry/api';

/** The database that statements are sent to, under the names of OpenTelemetry's conventions. */
export interface ObservedDatabase {
  /** Such as `postgresql`, `sqlite`, `mariadb` or `mysql`. */
  readonly system: string;
  /** The database, with its schema where the server has several: `shop` or `shop|public`. */
  readonly namespace?: string;
  /** The host or the path of the socket. */
  readonly address?: string;
  /** The port; leave the default of the system out. */
  readonly port?: number;
}

/** The text of a statement without literals. Parameters are not part of the text. */
export const masked = (sql: string): string => withoutLiterals(sql, { text: '?', number: '?' }).trim();

/** The first word of a masked statement. There are few of them, as it must be for names of spans. */
export const operationOf = (maskedSql: string): string => /^\w+/.exec(maskedSql)?.[0].toUpperCase() ?? 'STATEMENT';

const NAME = String.raw`(?:"(?:[^"]|"")+"|\x60[^\x60]+\x60|[\w$\u0080-\uffff]+)`;
const TABLE = String.raw`\s+(?:ONLY\s+)?(${NAME}(?:\.${NAME})*)(?![\w$."\x60])`;
/** Not the FROM of `IS DISTINCT FROM`, nor a function behind one, nor the UPDATE of `FOR UPDATE` and `DO UPDATE`. */
const TABLES = new RegExp(
  String.raw`\b(?:(?<!\bDISTINCT\s+)FROM|JOIN)${TABLE}(?!\s*\()|\b(?:INTO|(?<!\b(?:FOR|DO|KEY)\s+)UPDATE)${TABLE}`,
  'giu',
);
/** The convention's limit. */
const LONGEST_SUMMARY = 255;

/** The tables that a masked statement names, in their order. */
function tablesOf(maskedSql: string): string[] {
  const found = [...maskedSql.matchAll(TABLES)].map(([, read, written]) =>
    (read ?? written ?? '').replaceAll(/["\x60]/g, ''),
  );
  return [...new Set(found)];
}

export class Statements {
  /** The name of the pool, as the conventions make one. */
  readonly poolName: string;
  readonly #ofDatabase: Attributes;
  /** Statements are the same few texts. */
  readonly #known = new Map<string, { readonly metric: Attributes; readonly text: string; readonly summary: string }>();

  constructor({ system, namespace, address, port }: ObservedDatabase = { system: 'other_sql' }) {
    const server = [address, port].filter((part) => part !== undefined).join(':');
    this.poolName = [server, namespace].filter(Boolean).join('/') || system;
    this.#ofDatabase = {
      'db.system.name': system,
      ...(namespace === undefined ? {} : { 'db.namespace': namespace }),
      ...(address === undefined ? {} : { 'server.address': address }),
      ...(port === undefined ? {} : { 'server.port': port }),
    };
  }

  /**
   * The attributes of a statement, for its span and for the metric, which leaves out the text.
   *
   * @param sql - the statement
   * @param error - what it failed with
   * @returns the attributes, and the name of the span
   */
  describe(
    sql: string,
    error: unknown,
  ): { readonly name: string; readonly span: Attributes; readonly metric: Attributes } {
    const { metric: known, text, summary } = this.#known.get(sql) ?? this.#read(sql);
    const metric = error === undefined ? known : { ...known, ...ofError(error) };
    return { name: summary, metric, span: { ...metric, 'db.query.text': text } };
  }

  #read(sql: string): { readonly metric: Attributes; readonly text: string; readonly summary: string } {
    const text = masked(sql);
    const operation = operationOf(text);
    const tables = tablesOf(text);
    const summary = [operation, ...tables].join(' ').slice(0, LONGEST_SUMMARY);
    const metric = {
      ...this.#ofDatabase,
      'db.operation.name': operation,
      'db.query.summary': summary,
      // A statement with several tables is about none of them alone.
      ...(tables.length === 1 ? { 'db.collection.name': tables[0] } : {}),
    };
    const read = { metric, text, summary };
    if (this.#known.size < MOST_KNOWN) this.#known.set(sql, read);
    return read;
  }
}

const MOST_KNOWN = 500;

/** The SQLSTATE is the status of the response; without one, the error is that of a driver or of the network. */
function ofError(error: unknown): Attributes {
  const { sqlState, code, name } = Object(error) as { sqlState?: unknown; code?: unknown; name?: unknown };
  const type = [sqlState, code, name].find((each): each is string => typeof each === 'string') ?? '_OTHER';
  return {
    'error.type': type,
    ...(typeof sqlState === 'string' ? { 'db.response.status_code': sqlState } : {}),
  };
}
