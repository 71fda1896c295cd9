import { fromPostgresJs } from '@ambit/drivers/postgres-js';
import postgresJs from 'postgres';
import { databaseUrl, prove, TABLE } from './transactions.mjs';

const pool = fromPostgresJs(postgresJs(databaseUrl, { onnotice: () => undefined }));
await prove(pool, (connection, id) => connection.query(`INSERT INTO ${TABLE} VALUES ($1)`, [id]));
