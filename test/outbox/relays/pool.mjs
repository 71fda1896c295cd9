// @ts-check
import { join } from 'node:path';
import { fromMysql2Pool } from '@ambit/drivers/mysql2';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { createPool } from 'mysql2/promise';

/** @typedef {{ dialect: import('@ambit/outbox').OutboxDialect, address: string }} PoolSettings the address of a server, or the folder of the file */

/** @param {PoolSettings} settings @param {number} max */
export function openPool({ dialect, address }, max) {
  if (dialect === 'postgres') return createPostgresPool({ connectionString: address, max });
  if (dialect === 'sqlite') return createSqlitePool({ path: join(address, 'shop.db') });
  return fromMysql2Pool(createPool({ uri: address, connectionLimit: max }), { max });
}
