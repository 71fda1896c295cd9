import { describe } from 'vitest';
import { errorStories, failureStories } from './failures.js';
import { nestingStories } from './nested.js';
import type { Orm } from './orm.js';
import { poolStories } from './pool.js';
import { openStage } from './stage.js';
import { statementStories } from './statements.js';
import { typeStories } from './types.js';

/** What every ORM must do on a transaction's connection, on each database that it supports. */
export function ormStories(orm: Orm): void {
  describe.each(orm.databases)(`${orm.name} on %s`, (kind) => {
    const stage = openStage(orm, kind);
    statementStories(stage);
    nestingStories(stage);
    failureStories(stage);
    errorStories(stage);
    typeStories(stage);
    poolStories(stage);
  });
}
