import { PostgresConversation } from '../../../service/chaos/proxy.mjs';
import { postgresQuery } from '../../../service/chaos/support/databases/postgres.mjs';
import { startPgBouncer } from '../../../service/chaos/support/pgbouncer.mjs';
import { POOLER_SCENARIOS } from '../pooler-scenarios.mjs';

/** @type {import('../databases.mjs').Server} */
export const postgres = {
  name: 'PostgreSQL',
  url: new URL(process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test'),
  isRequired: process.env['AMBIT_REQUIRE_POSTGRES'] === '1',
  queryOf: postgresQuery,
  Conversation: PostgresConversation,
  dropDatabase: (name) => `DROP DATABASE ${name} WITH (FORCE)`,
  pooler: { name: 'pgbouncer', start: startPgBouncer, scenarios: POOLER_SCENARIOS },
};
postgres.url.port ||= '5432';
