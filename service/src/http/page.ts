import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { storedId } from '../ids.js';
import type { Page } from '../users/user-repository.js';
import { Problem } from '../problem.js';

const MOST_PER_PAGE = 1000;

export const Limit = Type.Integer({ minimum: 1, maximum: MOST_PER_PAGE });
const limitCheck = Compile(Limit);

/** Reads `?limit=` and `?after=`; undefined when neither was asked for. */
export function readPage({ limit, after }: Readonly<Record<string, unknown>>): Page | undefined {
  if (limit === undefined && after === undefined) return undefined;
  return { limit: readLimit(limit), after: readId(after) };
}

function readLimit(text: unknown): number | undefined {
  if (text === undefined) return undefined;
  const limit = typeof text === 'string' && /^\d{1,4}$/.test(text) ? Number(text) : undefined;
  if (limitCheck.Check(limit)) return limit;
  throw new Problem(400, `query.limit must be a whole number from 1 to ${MOST_PER_PAGE}, given once`);
}

function readId(text: unknown): string | undefined {
  if (text === undefined) return undefined;
  const id = typeof text === 'string' ? storedId(text) : undefined;
  if (id !== undefined) return id;
  throw new Problem(400, 'query.after must be the id of a user, given once');
}
