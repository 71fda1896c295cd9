import { Readable } from 'node:stream';
import { currentScope } from '@ambit/container';
import { InjectScoped, Transactional } from '@ambit/nest';
import type { DatabasePool, IConnection } from '@ambit/transaction';
import {
  type ArgumentsHost,
  BadRequestException,
  type CallHandler,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  ForbiddenException,
  Get,
  Header,
  HttpCode,
  type INestApplication,
  Injectable,
  type NestInterceptor,
  Param,
  type PipeTransform,
  Post,
  Redirect,
  Res,
  StreamableFile,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import { APP_INTERCEPTOR, HttpAdapterHost } from '@nestjs/core';
import { from, map, type Observable, of, throwError } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { containerWith, create, openDatabase, PLATFORMS, rootModule, type Send, serve } from './support/app.js';

let pool: DatabasePool;
let stored: () => Promise<string[]>;
let app: INestApplication;

beforeEach(async () => ({ pool, stored } = await openDatabase()));
afterEach(async () => {
  await app.close();
  await pool.close();
});

function isInTransaction(): boolean {
  return currentScope().has?.('IConnection') === true;
}

class Guard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { url } = context.switchToHttp().getRequest<{ url: string }>();
    if (url.includes('guarded')) throw new ForbiddenException(`in a transaction: ${isInTransaction()}`);
    return true;
  }
}

class Pipe implements PipeTransform {
  transform(value: unknown): unknown {
    if (value === 'refused-by-a-pipe') throw new BadRequestException(`in a transaction: ${isInTransaction()}`);
    return value;
  }
}

class Interceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { url } = context.switchToHttp().getRequest<{ url: string }>();
    return next
      .handle()
      .pipe(map((result) => (url.includes('mapped') ? { mapped: result, inTransaction: isInTransaction() } : result)));
  }
}

/** Reports what it was called with, and whether the scope of the request is the current one. */
@Catch()
class RouteFilter implements ExceptionFilter {
  @InjectScoped('IGreeting') private readonly greeting!: { readonly text: string };

  constructor(private readonly adapterHost: HttpAdapterHost) {}

  catch(error: Error, host: ArgumentsHost): void {
    const { code } = error as { code?: string };
    const body = { filter: code ?? error.message, greeting: this.greeting.text, inTransaction: isInTransaction() };
    this.adapterHost.httpAdapter.reply(host.getArgByIndex(1), body, 418);
  }
}
Reflect.defineMetadata('design:paramtypes', [HttpAdapterHost], RouteFilter);

@Injectable()
class Accounts {
  @Transactional()
  late(id: string): Observable<string> {
    return of(id);
  }
}

@Controller('orders')
@UseGuards(Guard)
@UsePipes(Pipe)
@UseInterceptors(Interceptor)
class Orders {
  constructor(
    @InjectScoped('IConnection') private readonly connection: IConnection,
    private readonly accounts: Accounts,
  ) {}

  @Post('one/:id')
  @Transactional()
  async one(@Param('id') id: string): Promise<object> {
    await this.insert(id);
    return { id };
  }

  // Above and below the route: both must be found.
  @Transactional()
  @Post('above/:id')
  async above(@Param('id') id: string): Promise<void> {
    await this.insert(id);
    throw new BadRequestException('no');
  }

  @Post('unwritable/:id')
  @Transactional()
  async unwritable(@Param('id') id: string): Promise<object> {
    await this.insert(id);
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    return circular;
  }

  @Post('observable/:id')
  @Transactional()
  observable(@Param('id') id: string): Observable<unknown> {
    return from(this.insert(id)).pipe(map(() => ({ id })));
  }

  @Post('no-observable/:id')
  @Transactional()
  noObservable(@Param('id') id: string): Observable<unknown> {
    void id;
    return throwError(() => new BadRequestException('no'));
  }

  @Post('file/:id')
  @HttpCode(200)
  @Header('content-type', 'text/plain')
  @Transactional()
  async file(@Param('id') id: string): Promise<StreamableFile> {
    await this.insert(id);
    return new StreamableFile(
      id === 'fails'
        ? new Readable({
            read() {
              this.destroy(new Error('disk'));
            },
          })
        : Readable.from(['a', 'b']),
    );
  }

  @Post('redirect/:id')
  @Redirect('/elsewhere', 303)
  @Transactional()
  async redirect(@Param('id') id: string): Promise<void> {
    await this.insert(id);
  }

  @Post('by-itself/:id')
  @Transactional()
  async byItself(@Param('id') id: string, @Res() response: { send(body: unknown): unknown }): Promise<void> {
    await this.insert(id);
    response.send({ sent: id });
  }

  @Post('filtered/:id')
  @UseFilters(RouteFilter)
  @Transactional()
  async filtered(@Param('id') id: string): Promise<object> {
    await this.insert(id);
    // Noticed when it commits.
    if (id === 'deferred') await this.connection.query('INSERT INTO lines (product) VALUES ($1)', ['missing']);
    else throw new Error(id);
    return { id };
  }

  @Post('filtered-by-itself/:id')
  @UseFilters(RouteFilter)
  @Transactional()
  async filteredByItself(@Param('id') id: string, @Res() response: { send(body: unknown): unknown }): Promise<void> {
    await this.insert(id);
    await this.connection.query('INSERT INTO lines (product) VALUES ($1)', ['missing']);
    response.send({ id });
  }

  @Post('late/:id')
  late(@Param('id') id: string): Promise<unknown> {
    return this.accounts.late(id) as unknown as Promise<unknown>;
  }

  @Get('none')
  none(): object {
    return { inTransaction: isInTransaction() };
  }

  private async insert(id: string): Promise<void> {
    await this.connection.query('INSERT INTO orders (id) VALUES ($1)', [id]);
  }
}
Reflect.defineMetadata('design:paramtypes', [Object, Accounts], Orders);

/** An interceptor of the application is outside of those of the controller. */
@Injectable()
class AppInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { url } = context.switchToHttp().getRequest<{ url: string }>();
    return next.handle().pipe(
      map((result) => {
        if (url.includes('refused-by-the-application')) throw new BadRequestException('by the application');
        return result;
      }),
    );
  }
}

describe.each(PLATFORMS)('@Transactional() on $platform', ({ adapter }) => {
  let send: Send;

  beforeEach(async () => {
    await pool.query('CREATE TABLE products (id TEXT PRIMARY KEY)');
    await pool.query('CREATE TABLE lines (product TEXT REFERENCES products (id) DEFERRABLE INITIALLY DEFERRED)');
    const container = containerWith(pool, { IGreeting: () => ({ text: 'hello' }) });
    const root = rootModule(
      { container },
      {
        controllers: [Orders],
        providers: [Accounts, RouteFilter, { provide: APP_INTERCEPTOR, useClass: AppInterceptor }],
      },
    );
    app = await create(root, adapter);
    app.useGlobalInterceptors(new AppInterceptor());
    send = await serve(app);
  });

  it.each([
    ['the handler, decorated above its route', 'above/apple', 400],
    ['a pipe', 'one/refused-by-a-pipe', 400],
    ['an interceptor of the application', 'one/refused-by-the-application', 400],
    ['the observable of a handler', 'no-observable/apple', 400],
    ['the serialisation of the result', 'unwritable/apple', 500],
  ])('rolls back what %s throws', async (_who, path, status) => {
    expect((await send('POST', `/orders/${path}`)).status).toBe(status);
    expect(await stored()).toEqual([]);
  });

  it('begins behind the guards, and before the pipes', async () => {
    expect(await send('POST', '/orders/one/guarded')).toMatchObject({
      status: 403,
      body: { message: 'in a transaction: false' },
    });
    expect(await send('POST', '/orders/one/refused-by-a-pipe')).toMatchObject({
      body: { message: 'in a transaction: true' },
    });
    expect((await send('GET', '/orders/none')).body).toEqual({ inTransaction: false });
  });

  it('lets interceptors map the response', async () => {
    expect((await send('POST', '/orders/one/mapped')).body).toEqual({ mapped: { id: 'mapped' }, inTransaction: true });
    expect(await stored()).toEqual(['mapped']);
  });

  it('commits observables, files, redirects and handlers that respond by themselves', async () => {
    expect(await send('POST', '/orders/observable/a')).toMatchObject({ status: 201, body: { id: 'a' } });
    expect(await send('POST', '/orders/file/b')).toMatchObject({ status: 200, body: 'ab' });
    const followed = await send('POST', '/orders/redirect/c');
    expect(followed.status).toBe(404);
    expect(await send('POST', '/orders/by-itself/d')).toMatchObject({ status: 201, body: { sent: 'd' } });
    expect(await stored()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('rolls back a file that fails before its first byte', async () => {
    // Node warns where a response has more listeners than ten.
    const warned = vi.fn<(warning: Error) => void>();
    process.on('warning', warned);
    onTestFinished(() => void process.off('warning', warned));
    // Nest 10 closes the connection on Express.
    const response = await send('POST', '/orders/file/fails').catch(() => ({ status: 500 }));
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(await stored()).toEqual([]);
    expect(warned).not.toHaveBeenCalled();
  });

  it('calls the filter of the route in the scope of the request, also where COMMIT fails', async () => {
    const filter = { greeting: 'hello', inTransaction: false };
    expect(await send('POST', '/orders/filtered/mine')).toMatchObject({
      status: 418,
      body: { ...filter, filter: 'mine' },
    });
    for (const path of ['filtered/deferred', 'filtered-by-itself/deferred']) {
      const response = await send('POST', `/orders/${path}`);
      expect(response).toMatchObject({ status: 418, body: { ...filter, filter: 'AMBIT_TX_COMMIT_FAILED' } });
    }
    expect(await stored()).toEqual([]);
  });

  it('of a provider refuses an Observable, which would write after COMMIT', async () => {
    expect((await send('POST', '/orders/late/apple')).status).toBe(500);
    expect(await stored()).toEqual([]);
  });
});
