import { NOW_MS } from '@ambit/transaction/extension';
import { type ReturningTable, tableWithReturning } from './returning.js';

export const sqlite = (table: string): ReturningTable =>
  tableWithReturning(table, {
    position: 'INTEGER PRIMARY KEY AUTOINCREMENT',
    storage: '',
    now: NOW_MS.sqlite,
    elements: (parameter) => `json_each(${parameter})`,
    objects: (parameter) => `json_each(${parameter})`,
    greatest: 'max',
    least: 'min',
    skipLocked: '',
    anyOf: (query) => `IN (${query})`,
  });
