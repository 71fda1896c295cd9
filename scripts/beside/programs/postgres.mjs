import { fromPostgresJs } from '@ambit/drivers/postgres-js';
import postgresJs from 'postgres';
import { databaseUrl, prove } from './transactions.mjs';

const pool = fromPostgresJs(postgresJs(databaseUrl, { onnotice: () => undefined }));
await prove(pool, 'beside_postgres_js', (connection, id) =>
  connection.query('INSERT INTO beside_postgres_js VALUES ($1)', [id]),
);
