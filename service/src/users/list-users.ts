import { Readable } from 'node:stream';
import { setImmediate as otherWork } from 'node:timers/promises';
import type { AuditedUsers } from './use-cases.js';
import type { User } from './user.js';
import type { Page } from './user-repository.js';

/**
 * The users asked for. A long list is not held in memory: it is the text of its JSON, the same that the array would have
 * given, read from the database page by page as the client takes it. Between two pages no connection is held.
 */
export async function listUsers(deps: AuditedUsers, page?: Page): Promise<User[] | Readable> {
  const { users, audit } = deps;
  const { pageSize } = users;
  if (pageSize === undefined || page?.limit !== undefined) {
    const list = await users.findAll(page);
    await audit.log('users_listed', { count: list.length });
    return list;
  }
  const first = await users.findAll({ after: page?.after, limit: pageSize });
  if (first.length >= pageSize) return Readable.from(jsonParts(deps, first, pageSize), { objectMode: false });
  await audit.log('users_listed', { count: first.length });
  return first;
}

/** Audited once it is known how many there were, and before the client has the end; or when reading stops earlier. */
async function* jsonParts({ users, audit }: AuditedUsers, first: User[], limit: number): AsyncGenerator<string, void> {
  let count = 0;
  try {
    for (let list = first; list.length > 0;) {
      const before = count === 0 ? '[' : ',';
      count += list.length;
      yield before + JSON.stringify(list).slice(1, -1);
      if (list.length < limit) break;
      // SQLite answers, and a fast client takes what it gets, without a turn for anybody else.
      await otherWork();
      list = await users.findAll({ after: list.at(-1)?.id, limit });
    }
  } finally {
    await audit.log('users_listed', { count });
  }
  yield ']';
}
