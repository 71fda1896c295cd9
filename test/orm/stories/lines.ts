import { runInTransaction } from '@ambit/transaction';
import { expect, it } from 'vitest';
import { AROUND_POOLS } from '@ambit/test-kit/around-pools';
import type { OrmSession } from './orm.js';
import { ADA, type Stage } from './stage.js';

type Run = (work: (session: OrmSession) => Promise<unknown>) => Promise<unknown>;

/** In each of them a function named `application` waits for what fails. */
const FAILURES: Readonly<Record<string, (inTransaction: Run) => Promise<unknown>>> = {
  'a failed statement': (inTransaction) =>
    inTransaction(async function application(session) {
      await session.insertAuthor(ADA);
      await session.insertAuthor(ADA);
    }),
  'a failed statement in a nested transaction': (inTransaction) =>
    inTransaction((outer) =>
      outer.nested(async function application(session) {
        await session.insertAuthor(ADA);
        await session.insertAuthor(ADA);
      }),
    ),
  'a statement that is refused after a failed one': (inTransaction) =>
    inTransaction(async function application(session) {
      await session.insertAuthor(ADA);
      await session.insertAuthor(ADA).catch(() => undefined);
      await session.authors();
    }),
  'COMMIT after a failed statement': async function application(inTransaction) {
    await inTransaction(async (session) => {
      await session.insertAuthor(ADA);
      await session.insertAuthor(ADA).catch(() => undefined);
    });
  },
};

/** Whatever the application puts around its pool, its own line is in the stack of what fails through the library. */
export function lineStories(stage: Stage): void {
  it.each(Object.keys(AROUND_POOLS))('keeps the line of the application with %s around the pool', async (around) => {
    const { scope, remove } = await AROUND_POOLS[around]!(stage.app.pool as never);
    const lost: string[] = [];
    for (const [failure, fail] of Object.entries(FAILURES)) {
      const failing = fail((work) =>
        runInTransaction(scope, async (inner) => {
          await work(await stage.opened.session(inner));
        }),
      );
      const error: unknown = await failing.catch((reason: unknown) => reason);
      const stack = error instanceof Error ? String(error.stack) : String(error);
      if (!/^ +at (async )?(Object\.)?application /m.test(stack)) lost.push(`${failure}: ${stack}`);
    }
    await remove();
    expect(lost).toEqual([]);
  });
}
