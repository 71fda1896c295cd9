import { fromMysql2Pool, type Mysql2Pool } from '@ambit/drivers/mysql2';
import { type DriverPoolOptions, fromPgPool } from '@ambit/drivers/pg';
import type { IDatabasePool } from '@ambit/transaction';
import { Client, Pool } from 'pg';

declare const mysql: Mysql2Pool;
const options: DriverPoolOptions = { acquireTimeoutMs: 1000, keepOpen: true };

// What an application registers as `IDatabasePool`.
export const pools: readonly IDatabasePool[] = [fromPgPool(new Pool(), options), fromMysql2Pool(mysql, { max: 4 })];
// error: 'Client'
fromPgPool(new Client());
// error: 'max' does not exist in type 'DriverPoolOptions'
fromPgPool(new Pool(), { max: 4 });
