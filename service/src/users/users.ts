import { Readable } from 'node:stream';
import { setImmediate as otherWork } from 'node:timers/promises';
import type { IContainer } from '@ambit/container';
import type { IdempotencyHeader } from '@ambit/idempotency';
import { TransactionError, type TransactionOptions } from '@ambit/transaction';
import { unchecked } from '@ambit/transaction/check';
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { ISqlDialect, Queryable } from '../database/engine.js';
import { sqlFor } from '../database/engines.js';
import type { HttpResponse } from '../http/response.js';
import { idOf, newId, storedId } from '../ids.js';
import { alias, feature, hosts, infrastructure, of } from '../infrastructure.js';
import type { IAuditLogger } from '../logging/logger.js';
import { Problem } from '../problem.js';

export interface Page {
  readonly limit: number | undefined;
  /** The page begins after the user with this id. */
  readonly after: string | undefined;
}

export interface IUserRepository {
  /**
   * If it is set, a longer list is read in pages of this size, `findAll({ limit, after })`, while it is sent. Otherwise
   * `findAll()` returns the whole list at once.
   */
  readonly pageSize?: number;
  /** Oldest first. */
  findAll(page?: Page): Promise<User[]>;
  findById(id: string): Promise<User | null>;
  create(data: NewUser): Promise<User>;
}

const BEFORE_ALL = '';
/** SQLite reads a page in a few milliseconds, during which the process does nothing else. */
const PAGE_SIZE = 500;
const FIND = sqlFor(({ text }) => `SELECT id, name, email FROM users WHERE id = ${text('$1')} LIMIT 1`);
const ALL_AFTER = sqlFor(({ text }) => `SELECT id, name, email FROM users WHERE id > ${text('$1')} ORDER BY id`);
const INSERT = sqlFor(
  ({ text }) => `INSERT INTO users (id, name, email) VALUES (${text('$1')}, ${text('$2')}, ${text('$3')})`,
);
/**
 * How many rows a statement may ask for; what is more than the page is left out. PostgreSQL expects a tenth of the table where the limit is
 * a parameter, so in a large one it would plan the statement again each time.
 */
const LIMITS = [10, 20, 50, 100, 200, 500, 1000];

export class UserRepository implements IUserRepository {
  readonly pageSize = PAGE_SIZE;
  readonly #database: Queryable;
  readonly #dialect: ISqlDialect['name'];

  constructor(database: Queryable, { name }: ISqlDialect) {
    this.#database = database;
    this.#dialect = name;
  }

  async findAll(page?: Page): Promise<User[]> {
    if (!page) return this.#database.query<User>('SELECT id, name, email FROM users ORDER BY id');
    const { after = BEFORE_ALL, limit = Infinity } = page;
    const rows = LIMITS.find((each) => each >= limit);
    const all = ALL_AFTER[this.#dialect];
    const sql = rows === undefined ? all : `${all} LIMIT ${rows}`;
    const users = await this.#database.query<User>(sql, [after]);
    return users.slice(0, limit);
  }

  async findById(id: string): Promise<User | null> {
    const stored = storedId(id);
    if (stored === undefined) return null;
    const rows = await this.#database.query<User>(FIND[this.#dialect], [stored]);
    return rows[0] ?? null;
  }

  async create({ name, email }: NewUser): Promise<User> {
    const user = { id: newId(), name, email };
    await this.#database.query(INSERT[this.#dialect], [user.id, name, email]);
    return user;
  }
}

export const userFeature = feature(
  'users',
  {
    IQueryable: alias({ request: 'IDatabasePool', transaction: 'IConnection' }),
    IUserRepository: of(['request', 'transaction'], UserRepository, [
      'IQueryable',
      'ISqlDialect',
    ]).as<IUserRepository>(),
  },
  hosts,
  infrastructure,
);

const MAX_PER_PAGE = 1000;

export const Limit = Type.Integer({ minimum: 1, maximum: MAX_PER_PAGE });
const limitCheck = Compile(Limit);

interface Services {
  readonly users: IUserRepository;
  readonly audit: IAuditLogger;
}

/**
 * The users that the query asks for. A long list is a stream of its JSON text, which is read from the database page by
 * page as the client receives it. Between two pages no connection is held.
 */
export async function listUsers(
  services: Services,
  query: Readonly<Record<string, unknown>>,
): Promise<User[] | Readable> {
  const { users, audit } = services;
  const { pageSize } = users;
  const page = readPage(query);
  if (pageSize === undefined || page?.limit !== undefined) {
    const list = await users.findAll(page);
    await audit.log('users_listed', { count: list.length });
    return list;
  }
  const first = await users.findAll({ after: page?.after, limit: pageSize });
  if (first.length >= pageSize) return Readable.from(jsonParts(services, first, pageSize), { objectMode: false });
  await audit.log('users_listed', { count: first.length });
  return first;
}

/**
 * As bytes, because the stream keeps a part until it has the next one: texts of thousands of lists would fill the heap.
 *
 * The audit record is written before the last part is sent, when the count is known, or when reading stops earlier.
 */
async function* jsonParts({ users, audit }: Services, first: User[], limit: number): AsyncGenerator<Buffer, void> {
  let count = 0;
  try {
    for (let list = first; list.length > 0;) {
      const { length } = list;
      const after = list.at(-1)?.id;
      const before = count === 0 ? '[' : ',';
      count += length;
      yield Buffer.from(before + takeJson(list));
      if (length < limit) break;
      // With SQLite and a fast client nothing in this loop waits: let other requests run.
      await otherWork();
      // The same statement for each page is what keeps a long list out of memory.
      list = await unchecked(() => users.findAll({ after, limit }));
    }
  } finally {
    await audit.log('users_listed', { count });
  }
  yield Buffer.from(']');
}

/** Empties the list: its client may take long to read the text, and many clients do so at a time. */
function takeJson(list: User[]): string {
  const text = JSON.stringify(list).slice(1, -1);
  list.length = 0;
  return text;
}

/** For HEAD: does everything that GET does, except sending. */
export async function discard(stream: Readable): Promise<void> {
  for await (const _part of stream);
}

/** Undefined without `?limit=` and `?after=`. */
function readPage({ limit: count, after: id }: Readonly<Record<string, unknown>>): Page | undefined {
  if (count === undefined && id === undefined) return undefined;
  const limit = typeof count === 'string' && /^\d{1,4}$/.test(count) ? Number(count) : undefined;
  if (count !== undefined && !limitCheck.Check(limit))
    throw new Problem(400, `query.limit must be a whole number from 1 to ${MAX_PER_PAGE}, given once`);
  const after = typeof id === 'string' ? storedId(id) : undefined;
  if (id !== undefined && after === undefined)
    throw new Problem(400, 'query.after must be the id of a user, given once');
  return { limit, after };
}

export async function getUser(users: IUserRepository, id: string): Promise<User> {
  const user = await users.findById(id);
  if (user === null) throw new Problem(404, 'User not found');
  return user;
}

/** `extra` is added to the audit record: the two hosts differ in it. With a key the user and the key are stored in one transaction. */
export async function createUser(
  request: IContainer,
  key: IdempotencyHeader,
  data: NewUser,
  extra: object = {},
): Promise<HttpResponse<User>> {
  // Resolved before the work: a client that disconnects during COMMIT disposes the scope, and a stored user must be audited.
  const audit = request.resolve('IAuditLogger');
  if (key === undefined) {
    const user = await request.resolve('IUserRepository').create(data).catch(throwOutcomeUnknown);
    await audit.log('user_created', { userId: user.id, ...extra });
    return { status: 201, headers: {}, body: user };
  }
  const { userId: caller } = request.resolve('IRequestContext');
  const response = await request
    .resolve('IIdempotency')
    .respond(
      request,
      { key, caller, endpoint: 'POST /api/users', input: [data.name, data.email] },
      async (scope) => ({ status: 201, body: await scope.resolve('IUserRepository').create(data) }),
      transactionOptions(request),
    );
  if (!response.replayed) await audit.log('user_created', { userId: response.body.id, ...extra });
  return response;
}

/** A statement outside a transaction commits itself. When its connection is lost, nobody knows whether it did. */
function throwOutcomeUnknown(error: unknown): never {
  if (!(error instanceof TransactionError) || error.code !== 'AMBIT_TX_CONNECTION_LOST') throw error;
  const what = 'The connection was lost while a user was being stored';
  throw new TransactionError('AMBIT_TX_OUTCOME_UNKNOWN', what, { cause: error });
}

/** A transaction with the time limit of the service, which is rolled back when the client disconnects. */
export function transactionOptions(request: IContainer): TransactionOptions {
  const logger = request.resolve('ILogger');
  const { requestId } = request.resolve('IRequestContext');
  return {
    timeoutMs: request.resolve('IConfigService').get('transactionTimeoutMs'),
    signal: request.resolve('IRequestSignal'),
    onError: (err) => logger.error({ msg: 'The transaction failed to close', requestId, err }),
  };
}

const fields = {
  name: Type.String({ minLength: 1, maxLength: 200, format: 'text', description: 'The full name.' }),
  email: Type.String({
    maxLength: 320,
    format: 'email',
    description: 'An email address. Several users may have the same.',
  }),
};

export const NewUser = Type.Object(fields);
export type NewUser = Static<typeof NewUser>;

export const User = Type.Object({
  id: idOf('Assigned by the service, a UUID. Ids sort by time of creation.'),
  ...fields,
});
export type User = Static<typeof User>;

/** The schema that the spec gives the response to a creation: an id is returned, but not required. */
export const CreatedUser = Type.Object({
  id: Type.Optional(Type.String()),
  name: Type.String(),
  email: Type.String({ format: 'email' }),
});
