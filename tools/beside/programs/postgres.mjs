import { fromPostgresJs } from '@ambit/drivers/postgres-js';
import { postgresJsOn } from '@ambit/orm/postgres-js';
import postgresJs from 'postgres';
import { databaseUrl, prove, TABLE } from './transactions.mjs';

const application = postgresJs(databaseUrl, { onnotice: () => undefined });
const insert = (sql, id) => sql`INSERT INTO ${sql(TABLE)} ${sql({ id })}`;
await prove(
  fromPostgresJs(application),
  (connection, id) => insert(postgresJsOn(connection, application), id),
  (connection, id) =>
    postgresJsOn(connection, application).begin(async (inner) => {
      await insert(inner, id);
      throw new Error('undo');
    }),
);
