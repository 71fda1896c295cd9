import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { freePort } from '../../../lab/kit/program.mjs';
import { startProgram } from './program.mjs';

const SETTINGS = {
  'innodb-buffer-pool-size': '2G',
  'innodb-flush-log-at-trx-commit': '2',
  'innodb-log-file-size': '2G',
  'max-allowed-packet': '64M',
};
/** What a service that has run for a while has in memory: a column that makes MariaDB read each row. */
const WARM = { users: 'email', stock: 'level', idempotency_keys: 'body' };
const PAGES = 'Innodb_buffer_pool_read_requests';
const LOG = 'Innodb_os_log_written';

/** @type {import('./engines.mjs').Kind} */
export const mariadb = {
  settings: 'MariaDB 10.11 with `innodb_buffer_pool_size = 2G` and `innodb_flush_log_at_trx_commit = 2`',
  columns: {
    rows: 'rows that MariaDB reads (`Handler_read_*`)',
    pages: 'pages that MariaDB looks at',
    log: 'bytes of redo log',
  },
  steady: ['rows'],
  start,
};

/** @returns {Promise<import('./engines.mjs').Engine>} */
async function start(folder) {
  const data = join(folder, 'data');
  mkdirSync(folder, { recursive: true });
  const as = userOfServer();
  if (as.uid !== undefined) chownSync(folder, as.uid, as.gid);
  if (!existsSync(join(data, 'mysql'))) {
    const options = [
      '--no-defaults',
      `--datadir=${data}`,
      '--skip-test-db',
      '--auth-root-authentication-method=normal',
    ];
    execFileSync('mariadb-install-db', options, { ...as, cwd: folder, stdio: 'ignore' });
  }
  const port = await freePort();
  // A server that starts deletes what others have in its folder for temporary tables.
  const own = { datadir: data, tmpdir: folder, socket: join(folder, 'socket') };
  const given = { ...own, port, 'bind-address': '127.0.0.1', ...SETTINGS };
  const urlOf = (name) => `mariadb://root@127.0.0.1:${port}/${name}`;
  const { connection: admin, ...server } = await startProgram(
    'mariadbd',
    ['--no-defaults', ...Object.entries(given).map(([name, value]) => `--${name}=${value}`)],
    { as, stopWith: 'SIGTERM', connect: () => createConnection({ host: '127.0.0.1', port, user: 'root' }) },
  );
  const run = async (name, sql) => {
    await admin.query(`USE ${name}`);
    return (await admin.query(sql))[0];
  };
  const status = async () => {
    const [rows] = await admin.query(
      `SHOW GLOBAL STATUS WHERE Variable_name IN ('${PAGES}', '${LOG}') OR Variable_name LIKE 'Handler\\_read\\_%'`,
    );
    const values = new Map(rows.map(({ Variable_name: name, Value: value }) => [name, Number(value)]));
    const examined = [...values].filter(([name]) => name.startsWith('Handler'));
    return {
      rows: examined.reduce((sum, [, value]) => sum + value, 0),
      pages: values.get(PAGES),
      log: values.get(LOG),
    };
  };
  // Reading the status is counted in it.
  let asked = 0;
  const [first, second] = [await status(), await status()];
  const perStatus = second.rows - first.rows;
  return {
    environmentOf: (name) => ({ DATABASE_URL: urlOf(name) }),
    urlOf,
    run,
    create: async (name) => {
      await admin.query(`DROP DATABASE IF EXISTS ${name}`);
      await admin.query(`CREATE DATABASE ${name} CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin`);
    },
    fill: async (name, inserts) => {
      await admin.query(`USE ${name}`);
      await admin.query(
        `SET unique_checks = 0, foreign_key_checks = 0, sql_mode = concat(@@sql_mode, ',PIPES_AS_CONCAT')`,
      );
      for (const table of Object.keys(inserts)) await admin.query(`TRUNCATE ${table}`);
      for (const insert of Object.values(inserts)) await admin.query(insert);
      for (const table of Object.keys(inserts)) await admin.query(`ANALYZE TABLE ${table}`);
    },
    warm: async (name) => {
      for (const [table, column] of Object.entries(WARM))
        await run(name, `SELECT sum(length(${column})) FROM ${table}`);
    },
    used: async () => {
      const { rows, ...others } = await status();
      asked += 1;
      return { ...others, rows: rows - asked * perStatus };
    },
    startCpu: server.startCpu,
    stop: async () => {
      await admin.end();
      await server.stop();
    },
  };
}

/** MariaDB refuses to run as root, so root starts it as the user that its package created. */
function userOfServer() {
  if (process.getuid?.() !== 0) return {};
  const id = (flag) => Number(execFileSync('id', [flag, 'mysql'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
