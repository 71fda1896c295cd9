import { once } from 'node:events';
import { currentScope } from '@ambit/container';
import { InjectScoped, InScope, Transactional } from '@ambit/nest';
import type { DatabasePool, IConnection } from '@ambit/transaction';
import { BullModule, getQueueToken, Processor, WorkerHost } from '@nestjs/bullmq';
import { type INestApplication, Injectable } from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { WsAdapter } from '@nestjs/platform-ws';
import { Interval, ScheduleModule } from '@nestjs/schedule';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { type Job, type Queue, QueueEvents } from 'bullmq';
import { WebSocket } from 'ws';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  containerWith,
  create,
  openDatabase,
  PLATFORMS,
  rootModule,
  serve,
} from '../../../packages/nest/test/support/app.js';

const NEST = Number(process.env['OLDER_NEST'] ?? 12);
const connection = { url: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379', maxRetriesPerRequest: null };
const QUEUE = `orders-${process.pid}`;

let pool: DatabasePool;
let stored: () => Promise<string[]>;
let app: INestApplication;
let disposed = 0;

beforeEach(async () => {
  ({ pool, stored } = await openDatabase());
  disposed = 0;
});
afterEach(async () => {
  await app.close();
  await pool.close();
});

async function start(
  metadata: Parameters<typeof rootModule>[1],
  adapter: (typeof PLATFORMS)[number]['adapter'] = PLATFORMS[0].adapter,
): Promise<void> {
  const container = containerWith(pool, { ICounter: () => ({ dispose: () => void (disposed += 1) }) });
  app = await create(rootModule({ container }, metadata), adapter);
}

/** Stores in the transaction of the current scope, and fails where the id says so. */
@Injectable()
class Orders {
  @InjectScoped('IConnection') private readonly connection!: IConnection;

  async place(id: string): Promise<string> {
    currentScope().resolve('ICounter');
    await this.connection.query('INSERT INTO orders (id) VALUES ($1)', [id]);
    if (id.includes('fails')) throw new Error(id);
    return id;
  }
}

describe('@InScope() and @Transactional()', () => {
  it('on a method with @Interval() of @nestjs/schedule', async () => {
    let ticks = 0;
    @Injectable()
    class Schedule extends Orders {
      @Interval(10)
      @InScope()
      @Transactional()
      async tick(): Promise<void> {
        ticks += 1;
        await this.place(ticks % 2 === 0 ? `fails ${ticks}` : `tick ${ticks}`);
      }
    }
    await start({ imports: [ScheduleModule.forRoot()], providers: [Schedule] });
    await app.init();
    await expect.poll(() => ticks).toBeGreaterThan(3);
    await app.close();
    expect((await stored()).slice(0, 2)).toEqual(['tick 1', 'tick 3']);
    expect(disposed).toBe(ticks);
  });

  it('on a method with @OnEvent() of @nestjs/event-emitter', async () => {
    @Injectable()
    class Listener extends Orders {
      @InScope()
      @Transactional()
      @OnEvent('order', { suppressErrors: false })
      async onOrder(id: string): Promise<void> {
        await this.place(id);
      }
    }
    await start({ imports: [EventEmitterModule.forRoot()], providers: [Listener] });
    await app.init();
    const events = app.get(EventEmitter2);
    await events.emitAsync('order', 'apple');
    await expect(events.emitAsync('order', 'fails')).rejects.toThrow('fails');
    expect(await stored()).toEqual(['apple']);
    expect(disposed).toBe(2);
  });

  it('on process() of a @Processor() of @nestjs/bullmq, whose job is tried again', async () => {
    @Processor(QUEUE)
    class Worker extends WorkerHost {
      @InjectScoped('IConnection') private readonly connection!: IConnection;

      @InScope()
      @Transactional()
      async process(job: Job<string>): Promise<void> {
        await this.connection.query('INSERT INTO orders (id) VALUES ($1)', [`${job.data} ${job.attemptsMade}`]);
        if (job.attemptsMade === 0) throw new Error('once');
      }
    }
    await start({
      imports: [BullModule.forRoot({ connection }), BullModule.registerQueue({ name: QUEUE })],
      providers: [Worker],
    });
    await app.init();
    const queue = app.get<Queue>(getQueueToken(QUEUE));
    // From the first event on: the job may be done before the newest one is looked for.
    const events = new QueueEvents(QUEUE, { connection, lastEventId: '0' });
    try {
      const job = await queue.add('order', 'apple', { attempts: 2 });
      await job.waitUntilFinished(events);
      expect(await stored()).toEqual(['apple 1']);
    } finally {
      await events.close();
      await queue.obliterate({ force: true });
    }
  });
});

describe.each(PLATFORMS)('a gateway on $platform', ({ adapter }) => {
  @WebSocketGateway()
  class Gateway extends Orders {
    @SubscribeMessage('bare')
    bare(): object {
      return { event: 'done', data: currentScope(undefined) ? 'in a scope' : 'in none' };
    }

    @SubscribeMessage('place')
    @InScope()
    @Transactional()
    async placed(@MessageBody() id: string): Promise<object> {
      return { event: 'done', data: await this.place(id) };
    }
  }

  let socket: WebSocket;
  const call = async (event: string, data: string): Promise<unknown> => {
    const response = once(socket, 'message') as Promise<[Buffer]>;
    socket.send(JSON.stringify({ event, data }));
    return (JSON.parse(String((await response)[0])) as { data: unknown }).data;
  };

  beforeEach(async () => {
    await start({ providers: [Gateway] }, adapter);
    app.useWebSocketAdapter(new WsAdapter(app));
    await serve(app);
    socket = new WebSocket((await app.getUrl()).replace('http', 'ws'));
    await once(socket, 'open');
  });
  afterEach(() => socket.terminate());

  it('handles a message in a scope and a transaction of its own, with @InScope()', async () => {
    expect(await call('place', 'apple')).toBe('apple');
    // NestJS 10 and 11 tell this kind of client nothing of a failure.
    socket.send(JSON.stringify({ event: 'place', data: 'fails' }));
    await expect.poll(() => disposed).toBe(2);
    expect(await stored()).toEqual(['apple']);
  });

  it(`is in ${NEST >= 12 ? 'a scope' : 'none'} without it`, async () => {
    expect(await call('bare', '')).toBe(NEST >= 12 ? 'in a scope' : 'in none');
  });
});
