import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFile, writeFile as writeLater } from 'node:fs';
import { appendFile, readFile as read, rm, writeFile } from 'node:fs/promises';
import { Agent, ClientRequest, createServer as createHttpServer, get, type IncomingMessage } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, connect, createServer, type Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unchecked } from '../../src/check/index.js';
import { afterCommit, runInTransaction } from '../../src/index.js';
import { type CheckedApp, kindsOf, lineOf, placeOf, useCheckedApps } from './support.js';

const checkedApp = useCheckedApps();
const at = (mark: string): string => lineOf(import.meta.filename, mark);
const turn = (): Promise<void> => new Promise(setImmediate);
const FILE = join(tmpdir(), `ambit-effects-${process.pid}`);

const opened: { close(): unknown }[] = [];
async function portOf(server: Server): Promise<number> {
  opened.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

let echo: { readonly port: number; readonly socket: Socket };
beforeAll(async () => {
  const port = await portOf(createServer((socket) => void socket.pipe(socket)));
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  opened.push({ close: () => socket.destroy() });
  echo = { port, socket };
});
afterAll(async () => {
  for (const one of opened) one.close();
  await rm(FILE, { force: true });
});

const inTransaction = ({ app }: CheckedApp, work: () => Promise<unknown>): Promise<unknown> =>
  runInTransaction(app, work);

const EFFECTS: Readonly<Record<string, () => Promise<unknown>>> = {
  'connection-write': async () => {
    echo.socket.write('at once'); // connection-write
    await once(echo.socket, 'data');
  },
  'connection-write, in a later turn': async () => {
    Readable.from(['later']).pipe(echo.socket, { end: false }); // connection-write, in a later turn
    await once(echo.socket, 'data');
  },
  'file-write': async () => {
    await writeFile(FILE, 'a bill'); // file-write
  },
  'file-write, with a callback': async () => {
    await promisify(writeLater)(FILE, 'a bill'); // file-write, with a callback
  },
  'file-write, at its end': async () => {
    await appendFile(FILE, 'a bill'); // file-write, at its end
  },
  'file-write, of a stream': async () => {
    const stream = new PassThrough().end('a bill');
    await pipeline(stream, createWriteStream(FILE)); // file-write, of a stream
  },
  'child-process': async () => {
    await promisify(execFile)(process.execPath, ['--version']); // child-process
  },
};

describe.each(Object.entries(EFFECTS))('%s', (name, act) => {
  it('is found in an open transaction, with its line', async () => {
    const t = checkedApp();
    await inTransaction(t, act);
    expect(t.check.findings).toMatchObject([{ kind: name.replace(/,.*/, ''), count: 1 }]);
    expect(placeOf(t.check.findings[0]!)).toBe(at(name));
  });

  it('is not found after COMMIT, beside the transaction, nor where it is meant so', async () => {
    const t = checkedApp();
    await Promise.all([inTransaction(t, turn), act()]);
    await inTransaction(t, async () => unchecked(act));
    await runInTransaction(t.app, async (scope) => afterCommit(scope, async () => void (await act())));
    expect(kindsOf(t)).toEqual([]);
  });

  it("refuses the COMMIT in the mode 'throw'", async () => {
    const t = checkedApp({ mode: 'throw' });
    await expect(inTransaction(t, act)).rejects.toMatchObject({ cause: { code: 'AMBIT_TX_CHECK' } });
  });
});

it('names what was reached', async () => {
  const t = checkedApp();
  for (const name of ['connection-write', 'file-write', 'child-process']) await inTransaction(t, EFFECTS[name]!);
  expect(t.check.findings.map(({ message }) => message.replace(/, at .*/s, ''))).toEqual([
    `Data was sent while a transaction was open, 127.0.0.1:${echo.port}`,
    'A file was written while a transaction was open, fs.writeFile',
    'A child process was started while a transaction was open',
  ]);
});

it('leaves out what is allowed by its target, such as a cache', async () => {
  for (const [target, found] of [
    [`:${echo.port}`, []],
    [':1', ['connection-write']],
  ] as const) {
    const t = checkedApp({ allow: [{ target }] });
    await inTransaction(t, EFFECTS['connection-write']!);
    expect(kindsOf(t)).toEqual(found);
  }
});

it('finds nothing in reading a file, logging, a response, and the statements of its own pool', async () => {
  const t = checkedApp();
  const server = createServer((socket) => {
    socket.once('data', () => void inTransaction(t, async () => void socket.end('a response')));
  });
  const port = await portOf(server);
  await inTransaction(t, async () => {
    await read(import.meta.filename);
    await promisify(readFile)(import.meta.filename);
    process.stdout.write('');
  });
  const client = connect(port, '127.0.0.1');
  client.write('a request');
  await once(client, 'data');
  client.destroy();
  expect(kindsOf(t)).toEqual([]);
});

describe('an HTTP request', () => {
  it('is found once, with its line, on a connection that was kept alive, too', async () => {
    const server = createHttpServer((_req, res) => res.end('a price'));
    const port = await portOf(server);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    opened.push({ close: () => agent.destroy() });
    const t = checkedApp();
    const ask = (path: string): Promise<void> =>
      new Promise((resolve) => {
        get({ port, path, agent }, (response: IncomingMessage) => response.resume().on('end', resolve)); // asked
      });
    await ask('/before');
    await turn();
    await inTransaction(t, () => ask('/again'));
    expect(t.check.findings).toMatchObject([
      { kind: 'http-request', count: 1, target: `GET http://localhost:${port}/again` },
    ]);
    expect(t.check.findings.map(placeOf)).toEqual([at('asked')]);
    server.closeAllConnections();
  });

  it('is found over HTTP/2, as a client of gRPC sends it', async () => {
    const server = createHttp2Server((_req, res) => res.end('a price'));
    const port = await portOf(server);
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    const t = checkedApp();
    const ask = async (): Promise<void> => {
      const request = session.request({ ':path': '/prices' }); // asked over HTTP/2
      await once(request.resume(), 'end');
    };
    await ask();
    await inTransaction(t, ask);
    expect(t.check.findings).toMatchObject([{ kind: 'http-request', target: 'HTTP/2' }]);
    expect(t.check.findings.map(placeOf)).toEqual([at('asked over HTTP/2')]);
    session.close();
  });
});

describe('the transaction check changes nothing that a program sees', () => {
  /** The stack of what a method calls, and which method it is. */
  function seen(): unknown[] {
    const stacks: unknown[] = [];
    class Probe extends Socket {
      override _write(_chunk: unknown, _encoding: string, callback: () => void): void {
        stacks.push(new Error('seen').stack?.split('\n').slice(0, 9));
        callback();
      }
    }
    const probe = new Probe();
    probe.write('text');
    return [
      ...stacks,
      probe.write === Writable.prototype.write,
      Object.keys(probe),
      typeof ClientRequest.prototype.end,
    ];
  }

  it('such as the stack below write(), and write() itself', async () => {
    const before = [1, 2].map(seen)[1];
    const t = checkedApp();
    let during: unknown;
    await inTransaction(t, async () => void (during = [1, 2].map(seen)[1]));
    expect(String(before).split('at ').slice(0, 5)).toEqual(String(during).split('at ').slice(0, 5));
  });

  it('and leaves nothing behind when the last one stops, in whatever order', () => {
    const [first, second] = [checkedApp(), checkedApp()];
    const looked = (): boolean[] => [
      Object.hasOwn(Socket.prototype, 'write'),
      Object.hasOwn(ClientRequest.prototype, 'end'),
    ];
    expect(looked()).toEqual([true, true]);
    first.check.stop();
    expect(looked()).toEqual([true, true]);
    second.check.stop();
    expect(looked()).toEqual([false, false]);
  });

  it('nor the method that another tool puts there', () => {
    const t = checkedApp();
    const { write } = Socket.prototype;
    const others = function (this: Socket, ...args: unknown[]): boolean {
      return Reflect.apply(write, this, args) as boolean;
    };
    Socket.prototype.write = others;
    expect(new Socket().write).toBe(others);
    t.check.stop();
    expect(new Socket().write).toBe(others);
    Reflect.deleteProperty(Socket.prototype, 'write');
  });
});
