import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { certificate, hasPostgres, postgresUrl } from '@ambit/test-kit';

const folder = mkdtempSync(join(tmpdir(), 'ambit-tls-'));
const trusted = join(folder, 'root.crt');
const sockets = new Set<Socket>();

/** PostgreSQL with TLS: accepts the request for it, and passes on what was encrypted. */
const withTls = createServer((socket) => {
  keep(socket).once('data', () => {
    socket.write('S');
    const secure = keep(new TLSSocket(socket, { isServer: true, ...certificate }));
    const { hostname, port } = new URL(postgresUrl);
    secure.pipe(keep(connect(Number(port || 5432), hostname))).pipe(secure);
  });
});
/** One that has no TLS. */
const withoutTls = createServer((socket) => void keep(socket).once('data', () => socket.write('N')));

function keep<S extends Socket>(socket: S): S {
  sockets.add(socket);
  socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  return socket;
}

async function query(server: Server, host: string, parameters: string): Promise<unknown> {
  const url = new URL(postgresUrl);
  url.host = `${host}:${(server.address() as AddressInfo).port}`;
  await using pool = createPostgresPool({ connectionString: `${url.href}?${parameters}`, max: 1, closeTimeoutMs: 0 });
  return await pool.query('SELECT 1 AS one');
}

describe.skipIf(!hasPostgres)('a connection to PostgreSQL', () => {
  beforeAll(async () => {
    writeFileSync(trusted, certificate.cert);
    for (const server of [withTls, withoutTls]) await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    for (const server of [withTls, withoutTls]) server.close();
    rmSync(folder, { recursive: true });
  });

  test.each(['verify-full', 'verify-ca', 'require', 'prefer'])('is encrypted with sslmode=%s', async (mode) => {
    expect(await query(withTls, 'localhost', `sslmode=${mode}&sslrootcert=${trusted}`)).toEqual([{ one: 1 }]);
  });

  test.each(['verify-full', 'verify-ca', 'require', 'prefer'])(
    'is refused with sslmode=%s where the certificate is of nobody who is trusted, or of another host',
    async (mode) => {
      await expect(query(withTls, 'localhost', `sslmode=${mode}`)).rejects.toMatchObject({
        cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
      });
      await expect(query(withTls, '127.0.0.1', `sslmode=${mode}&sslrootcert=${trusted}`)).rejects.toMatchObject({
        cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
      });
    },
  );

  test.each(['verify-full', 'prefer'])('is never in clear text with sslmode=%s', async (mode) => {
    await expect(query(withoutTls, 'localhost', `sslmode=${mode}`)).rejects.toMatchObject({
      cause: { message: 'The server does not support SSL connections' },
    });
  });
});
