import { MariadbConversation } from '../../../service/chaos/proxy.mjs';
import { mariadbQuery } from '../../../service/chaos/support/databases/mariadb.mjs';

/** @type {import('../databases.mjs').Server} */
export const mariadb = {
  name: 'MariaDB',
  url: new URL(process.env['MARIADB_URL'] ?? 'mariadb://root@127.0.0.1:3306'),
  isRequired: process.env['AMBIT_REQUIRE_MARIADB'] === '1',
  queryOf: mariadbQuery,
  Conversation: MariadbConversation,
  dropDatabase: (name) => `DROP DATABASE ${name}`,
};
mariadb.url.port ||= '3306';
