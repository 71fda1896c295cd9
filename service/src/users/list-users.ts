import { Readable } from 'node:stream';
import { setImmediate as otherWork } from 'node:timers/promises';
import { unchecked } from '@ambit/transaction/check';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { IAuditLogger } from '../audit.js';
import { storedId } from '../ids.js';
import { Problem } from '../problem.js';
import type { User } from './user.js';
import type { IUserRepository, Page } from './user-repository.js';

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

/** The audit record is written before the last part is sent, when the count is known, or when reading stops earlier. */
async function* jsonParts({ users, audit }: Services, first: User[], limit: number): AsyncGenerator<string, void> {
  let count = 0;
  try {
    for (let list = first; list.length > 0;) {
      const before = count === 0 ? '[' : ',';
      count += list.length;
      yield before + JSON.stringify(list).slice(1, -1);
      if (list.length < limit) break;
      // With SQLite and a fast client nothing in this loop waits: let other requests run.
      await otherWork();
      // The same statement for each page is what keeps a long list out of memory.
      list = await unchecked(() => users.findAll({ after: list.at(-1)?.id, limit }));
    }
  } finally {
    await audit.log('users_listed', { count });
  }
  yield ']';
}

/** For HEAD: does everything that GET does, except sending. */
export async function discard(stream: Readable): Promise<void> {
  for await (const _part of stream);
}

/** Undefined without `?limit=` and `?after=`. */
function readPage({ limit, after }: Readonly<Record<string, unknown>>): Page | undefined {
  if (limit === undefined && after === undefined) return undefined;
  return { limit: readLimit(limit), after: readId(after) };
}

function readLimit(text: unknown): number | undefined {
  if (text === undefined) return undefined;
  const limit = typeof text === 'string' && /^\d{1,4}$/.test(text) ? Number(text) : undefined;
  if (limitCheck.Check(limit)) return limit;
  throw new Problem(400, `query.limit must be a whole number from 1 to ${MAX_PER_PAGE}, given once`);
}

function readId(text: unknown): string | undefined {
  if (text === undefined) return undefined;
  const id = typeof text === 'string' ? storedId(text) : undefined;
  if (id !== undefined) return id;
  throw new Problem(400, 'query.after must be the id of a user, given once');
}
