import { describe } from 'vitest';
import { errorStories, failureStories } from './failures.js';
import { lineStories } from './lines.js';
import { nestingStories } from './nested.js';
import type { Orm } from './orm.js';
import { poolStories } from './pool.js';
import { openStage } from './stage.js';
import { statementStories } from './statements.js';
import { typeStories } from './types.js';

/** What every ORM must do on a transaction's connection, on each database that it supports. */
export function ormStories(orm: Orm): void {
  const pools = [
    ...orm.databases.map((kind) => ({ kind, driver: undefined, name: kind })),
    ...(orm.drivers ?? []).map((driver) => ({ kind: 'PostgreSQL', driver, name: `the pool over ${driver}` }) as const),
  ];
  describe.each(pools)(`${orm.name} on $name`, ({ kind, driver }) => {
    const stage = openStage(orm, kind, driver);
    statementStories(stage);
    nestingStories(stage);
    failureStories(stage);
    errorStories(stage);
    lineStories(stage);
    typeStories(stage);
    poolStories(stage);
  });
}
