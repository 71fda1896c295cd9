import { expect, it } from 'vitest';
import { ofConnection, SAMPLE } from './orm.js';
import { type Stage } from './stage.js';

/** Types of values, as the ORM gives them on its own driver. */
export function typeStories(stage: Stage): void {
  const { inTransaction } = stage;

  it.each([
    ['dates', 'at'],
    ['bigints', 'big'],
    ['JSON', 'data'],
    ['booleans', 'yes'],
    ['null', 'missing'],
  ] as const)("stores %s, and gives them in the ORM's own types", async (_title, column) => {
    const given = await inTransaction(async (session) => {
      await session.insertSample(SAMPLE);
      return session.sample();
    });
    expect(given[column]).toEqual({ ...ofConnection(stage.kind), ...stage.orm.gives?.(stage.kind) }[column]);
  });
}
