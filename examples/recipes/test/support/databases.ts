import { once } from 'node:events';
import { connect } from 'node:net';
import { Client } from 'pg';

const postgresUrl = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';
export const redisUrl = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';

/** Where one is missing its tests are skipped; where AMBIT_REQUIRE_POSTGRES or AMBIT_REQUIRE_REDIS is 1 they fail instead. */
export const hasPostgres = process.env['AMBIT_REQUIRE_POSTGRES'] === '1' || (await listens(postgresUrl, 5432));
export const hasRedis = process.env['AMBIT_REQUIRE_REDIS'] === '1' || (await listens(redisUrl, 6379));

/** A database of a test's own, dropped by `drop()`. */
export async function createDatabase(): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const admin = new Client({ connectionString: postgresUrl });
  const name = `ambit_recipes_${process.pid}`;
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(postgresUrl);
  url.pathname = `/${name}`;
  const drop = async (): Promise<void> => {
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  };
  return { url: url.href, drop };
}

async function listens(url: string, defaultPort: number): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port || defaultPort), timeout: 60_000 });
  socket.on('timeout', () => socket.destroy(new Error('timeout')));
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
