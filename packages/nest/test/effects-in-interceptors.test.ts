import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { currentScope } from '@ambit/container';
import { Transactional } from '@ambit/nest';
import { afterCommit, type IConnection } from '@ambit/transaction';
import { type TransactionCheck, transactionCheck } from '@ambit/transaction/check';
import {
  type CallHandler,
  Controller,
  type ExecutionContext,
  type NestInterceptor,
  Post,
  UseInterceptors,
} from '@nestjs/common';
import { type Observable, tap } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { containerWith, create, openDatabase, PLATFORMS, rootModule, serve } from './support/app.js';

/** Another server that is notified of orders. */
let notified: Server;
let notifications: number;
let cache: Socket;
let check: TransactionCheck;

beforeEach(async () => {
  notifications = 0;
  notified = createServer((_req, res) => void res.end(String((notifications += 1)))).listen(0, '127.0.0.1');
  await once(notified, 'listening');
  cache = connect((notified.address() as AddressInfo).port, '127.0.0.1');
  await once(cache, 'connect');
  // How long a transaction is idle goes by how busy the machine is.
  check = transactionCheck({ gapMs: Infinity, report: () => undefined });
});
afterEach(() => {
  check.stop();
  cache.destroy();
  notified.close();
});

const notify = (): Promise<Response> => fetch(`http://127.0.0.1:${(notified.address() as AddressInfo).port}`);

class InTap implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(tap(() => void notify()));
  }
}

/** As a client of Redis does, on a connection that is open. */
class CacheInTap implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(tap(() => void cache.write('GET / HTTP/1.1\r\nHost: cache\r\n\r\n')));
  }
}

class InAfterCommit implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(tap(() => afterCommit(currentScope(), notify, { before: 'response' })));
  }
}

const store = async (): Promise<unknown> =>
  currentScope().resolve<IConnection>('IConnection').query("INSERT INTO orders VALUES ('one')");

@Controller()
class Orders {
  @Post('tap')
  @Transactional()
  @UseInterceptors(InTap)
  tap(): Promise<unknown> {
    return store();
  }

  @Post('cache')
  @Transactional()
  @UseInterceptors(CacheInTap)
  cache(): Promise<unknown> {
    return store();
  }

  @Post('after-commit')
  @Transactional()
  @UseInterceptors(InAfterCommit)
  afterCommit(): Promise<unknown> {
    return store();
  }
}

describe.each(PLATFORMS)('an interceptor of Nest on $platform that reaches another server in tap()', ({ adapter }) => {
  it.each([
    ['tap', ['http-request']],
    ['cache', ['connection-write']],
    ['after-commit', []],
  ])('is found by the transaction check, unless it does so after COMMIT: %s', async (path, found) => {
    const { pool } = await openDatabase();
    const container = containerWith(check.pool(pool));
    const app = await create(rootModule({ container }, { controllers: [Orders] }), adapter);
    try {
      expect((await (await serve(app))('POST', `/${path}`)).status).toBe(201);
      expect(check.findings.map(({ kind }) => kind)).toEqual(found);
      await expect.poll(() => notifications).toBe(1);
    } finally {
      await app.close();
      await pool.close();
    }
  });
});
