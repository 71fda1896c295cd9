// The SQLite of this Node, or the one of the package that stands in for it, as `createSqlitePool()` has it.
import { createRequire } from 'node:module';

/** @type {typeof import('@photostructure/sqlite')} */
export const { DatabaseSync } =
  process.getBuiltinModule('node:sqlite') ?? createRequire(import.meta.url)('@photostructure/sqlite');
