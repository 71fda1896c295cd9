import { refusedStatement } from '../errors.js';
import type { Database } from '../databases/database.js';
import { commandOf } from '../sql/command.js';
import { MYSQL } from '../sql/lexer.js';
import { eventTable } from './events.js';
import { keyTable } from './keys.js';
import { NOW } from './language.js';

export const mariadb = {
  now: NOW,
  events: eventTable,
  keys: keyTable,
  async sandbox(connection, lockTimeoutMs) {
    await connection.query(`SET innodb_lock_wait_timeout = ${Math.ceil(lockTimeoutMs / 1000)}`);
    return { refuseWrite, hasDeferrable: false, mayLoseTransaction: true };
  },
} satisfies Database;

/** A transaction of MySQL and MariaDB is read-only from the beginning, or not at all. */
function refuseWrite(sql: string): void {
  if (!/^(?:INSERT|UPDATE|DELETE|LOAD|CALL)$/.test(commandOf(sql, MYSQL))) return;
  throw refusedStatement(new Error('The transaction only reads: the sandbox refuses what would write'), '25006');
}
