import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { connect as connectNats } from '@nats-io/transport-node';
import * as grpc from '@grpc/grpc-js';
import { afterCommit, type IConnection, runInTransaction } from '@ambit/transaction';
import { transactionCheck, unchecked } from '@ambit/transaction/check';
import { connect as connectRabbit } from 'amqplib';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { createConnection } from 'mysql2/promise';
import { createTransport } from 'nodemailer';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type App, openApp } from '../libraries/app.js';
import { postgresUrl } from '../libraries/databases.js';

/** A client of another server, in use already. */
interface Client {
  /** Its line ends with the name of the client. */
  send(): Promise<unknown>;
  close(): unknown;
}

const redisUrl = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';
const mariadbUrl = process.env['MARIADB_URL'] ?? 'mysql://root@127.0.0.1:3306';
const NAME = `ambit-effects-${process.pid}`;

const CLIENTS: Readonly<Record<string, () => Promise<Client>>> = {
  ioredis: async () => {
    const redis = new Redis(redisUrl);
    // Before it is connected it keeps commands, and sends them from there.
    await redis.ping();
    return {
      send: async () => {
        await redis.set(NAME, 'an order'); // ioredis
      },
      close: async () => {
        await redis.del(NAME);
        redis.disconnect();
      },
    };
  },
  BullMQ: async () => {
    const queue = new Queue(NAME, { connection: { url: redisUrl } });
    return {
      send: async () => {
        await queue.add('mail', {}); // BullMQ
      },
      close: async () => {
        await queue.obliterate({ force: true });
        await queue.close();
      },
    };
  },
  NATS: async () => {
    const nats = await connectNats({ servers: '127.0.0.1:4222' });
    return {
      send: async () => {
        nats.publish(NAME, 'an order');
        await nats.flush(); // NATS
      },
      close: () => nats.close(),
    };
  },
  RabbitMQ: async () => {
    const connection = await connectRabbit('amqp://127.0.0.1:5672');
    const channel = await connection.createConfirmChannel();
    await channel.assertQueue(NAME, { autoDelete: true });
    return {
      send: async () => {
        channel.sendToQueue(NAME, Buffer.from('an order')); // RabbitMQ
        await channel.waitForConfirms();
      },
      close: async () => {
        await channel.deleteQueue(NAME);
        await connection.close();
      },
    };
  },
  SMTP: async () => {
    const server = createServer(receiveMail).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true });
    const mail = { from: 'shop@example.org', to: 'buyer@example.org', text: 'Thank you' };
    return {
      send: async () => {
        await transport.sendMail(mail); // SMTP
      },
      close: () => {
        transport.close();
        server.close();
      },
    };
  },
  gRPC: async () => {
    const serialize = (text: string): Buffer => Buffer.from(text);
    const get = {
      path: '/shop.Prices/Get',
      requestStream: false,
      responseStream: false,
      requestSerialize: serialize,
      requestDeserialize: String,
      responseSerialize: serialize,
      responseDeserialize: String,
    };
    const server = new grpc.Server();
    server.addService({ get }, { get: (_call: unknown, respond: grpc.sendUnaryData<string>) => respond(null, '7') });
    const port = await new Promise<number>((resolve, reject) => {
      const insecure = grpc.ServerCredentials.createInsecure();
      server.bindAsync('127.0.0.1:0', insecure, (error, bound) => (error ? reject(error) : resolve(bound)));
    });
    const Prices = grpc.makeGenericClientConstructor({ get }, 'Prices');
    const client = new Prices(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
    return {
      send: () =>
        new Promise((resolve, reject) => {
          const done = (error: unknown, price: unknown) => (error ? reject(error) : resolve(price));
          client['get']?.('apple', done); // gRPC
        }),
      close: () => {
        client.close();
        server.forceShutdown();
      },
    };
  },
  'another database, PostgreSQL': async () => {
    const pool = new Pool({ connectionString: postgresUrl });
    return {
      send: async () => {
        await pool.query('SELECT 1'); // another database, PostgreSQL
      },
      close: () => pool.end(),
    };
  },
  'another database, MariaDB': async () => {
    const connection = await createConnection(mariadbUrl);
    return {
      send: async () => {
        await connection.query('SELECT 1'); // another database, MariaDB
      },
      close: () => connection.end(),
    };
  },
};

/** As much of SMTP as one message needs. */
function receiveMail(socket: Socket): void {
  let isText = false;
  socket.write('220 mail.example.org\r\n');
  socket.setEncoding('utf8').on('data', (text: string) => {
    if (isText && !text.endsWith('\r\n.\r\n')) return;
    isText = text.startsWith('DATA');
    socket.write(isText ? '354 Go on\r\n' : text.startsWith('QUIT') ? '221 Bye\r\n' : '250 OK\r\n');
  });
  socket.on('error', () => undefined);
}

const lineOf = (mark: string): number =>
  readFileSync(import.meta.filename, 'utf8')
    .split('\n')
    .findIndex((line) => line.endsWith(`// ${mark}`)) + 1;

describe.each(Object.entries(CLIENTS))('the transaction check and %s', (name, open) => {
  let app: App;
  let client: Client;
  beforeAll(async () => {
    app = await openApp('PostgreSQL');
    client = await open();
  });
  afterAll(async () => {
    await client.close();
    await app.drop();
  });

  /** The lines of what is found in this file. */
  async function found(
    work: (connection: IConnection, scope: App['container']) => Promise<unknown>,
  ): Promise<unknown[]> {
    using check = transactionCheck({ report: () => undefined, gapMs: Infinity });
    const container = app.container.createScope();
    container.register('IDatabasePool', () => check.pool(app.pool));
    await runInTransaction(container, async (scope) => {
      const connection = scope.resolve<IConnection>('IConnection');
      await connection.query('SELECT 1');
      await work(connection, scope as App['container']);
    });
    return check.findings.map(({ kind, place }) => [kind, place?.file.replace(/.*\//, ''), place?.line]);
  }

  it('find what is sent in an open transaction, at its line', async () => {
    const expected = [name === 'gRPC' ? 'http-request' : 'connection-write', 'effects.test.ts', lineOf(name)];
    // The first one may open a connection.
    for (let time = 0; time < 2; time++) expect(await found(client.send)).toContainEqual(expected);
  });

  it('find nothing after COMMIT, beside the transaction, and where it is meant so', async () => {
    const beside = client.send();
    expect(
      await found(async (_connection, scope) => {
        afterCommit(scope, async () => void (await client.send()), { before: 'response' });
        await unchecked(client.send);
        await beside;
      }),
    ).toEqual([]);
  });
});
