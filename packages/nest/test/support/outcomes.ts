import { setTimeout as after } from 'node:timers/promises';
import {
  type ArgumentsHost,
  type CallHandler,
  Catch,
  ConflictException,
  Controller,
  type DynamicModule,
  type ExceptionFilter,
  type ExecutionContext,
  Inject,
  Injectable,
  Module,
  type NestInterceptor,
  Post,
  UseInterceptors,
} from '@nestjs/common';
import { APP_FILTER, HttpAdapterHost } from '@nestjs/core';
import { catchError, from, map, type Observable, of, retry, timeout } from 'rxjs';

/** The place of the decorator. */
export type Place = 'handler' | 'class' | 'both' | 'service';

/** One request: who fails, and how. */
export interface Scenario {
  /** The case, as the guide names it. */
  readonly what: string;
  readonly fails?: 'service' | 'handler' | 'COMMIT';
  /** The first call fails, and no other. */
  readonly isOnce?: boolean;
  readonly isSlow?: boolean;
  /** The promise of the handler is one of another library, as query builders are. */
  readonly isForeign?: boolean;
  readonly interceptor?: keyof typeof INTERCEPTORS;
  readonly filter?: keyof typeof FILTERS;
}

/** A way to transactions in NestJS. */
export interface Subject {
  /** For one application. */
  module(): DynamicModule;
  transactional(propagation?: 'requires-new'): MethodDecorator & ClassDecorator;
  /** Runs a statement in the transaction that is open here, or in none. */
  query(sql: string, params: readonly string[]): Promise<unknown>;
}

const INTERCEPTORS = {
  'catches it': (handled: Observable<unknown>) => handled.pipe(catchError(() => of({ by: 'interceptor' }))),
  'catches it and stores': (handled: Observable<unknown>, store: Store) =>
    handled.pipe(catchError(() => from(store.audit().then(() => ({ by: 'interceptor' }))))),
  'catches it and stores apart': (handled: Observable<unknown>, store: Store) =>
    handled.pipe(catchError(() => from(store.auditApart().then(() => ({ by: 'interceptor' }))))),
  'tries again': (handled: Observable<unknown>) => handled.pipe(retry()),
  'waits 20 ms': (handled: Observable<unknown>) => handled.pipe(timeout(20)),
  'waits 20 ms, then responds': (handled: Observable<unknown>) =>
    handled.pipe(
      timeout(20),
      catchError(() => of({ by: 'interceptor' })),
    ),
  'throws behind it': (handled: Observable<unknown>) =>
    handled.pipe(
      map(() => {
        throw new ConflictException();
      }),
    ),
  'has it in a cache': () => of({ by: 'interceptor' }),
};

const FILTERS = {
  200: async () => 200,
  409: async () => 409,
  500: async () => 500,
  'that stores': async (store: Store) => {
    await store.audit();
    return 409;
  },
};

interface Store {
  audit(): Promise<void>;
  auditApart(): Promise<void>;
}

/** One handler over one service, whose scenario is changed from request to request. */
export function outcomesOf(subject: Subject, place: Place) {
  let scenario: Scenario = { what: '' };
  let calls = 0;
  let running = 0;
  const on = (...places: Place[]): MethodDecorator & ClassDecorator =>
    places.includes(place) ? subject.transactional() : () => undefined;
  const failAt = (where: Scenario['fails']): void => {
    if (scenario.fails === where && (calls === 1 || !scenario.isOnce)) throw new ConflictException();
  };

  @Injectable()
  class Service {
    @on('service', 'both')
    async add(): Promise<void> {
      await subject.query('INSERT INTO orders (id) VALUES ($1)', [`order ${(calls += 1)}`]);
      if (scenario.fails === 'COMMIT') await subject.query('INSERT INTO lines (product) VALUES ($1)', ['missing']);
      failAt('service');
      if (scenario.isSlow) await after(60);
      await subject.query('SELECT 1', []);
    }

    @subject.transactional()
    async audit(): Promise<void> {
      await subject.query('INSERT INTO orders (id) VALUES ($1)', ['audit']);
    }

    @subject.transactional('requires-new')
    async auditApart(): Promise<void> {
      await subject.query('INSERT INTO orders (id) VALUES ($1)', ['audit']);
    }
  }

  @Injectable()
  class Interceptor implements NestInterceptor {
    constructor(@Inject(Service) private readonly service: Service) {}

    intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
      const handled = next.handle();
      return scenario.interceptor ? INTERCEPTORS[scenario.interceptor](handled, this.service) : handled;
    }
  }

  @Catch()
  class Filter implements ExceptionFilter {
    constructor(
      @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
      @Inject(Service) private readonly service: Service,
    ) {}

    async catch(_error: unknown, host: ArgumentsHost): Promise<void> {
      const status = await FILTERS[scenario.filter ?? 500](this.service);
      this.host.httpAdapter.reply(host.getArgByIndex(1), { by: 'filter' }, status);
    }
  }

  @on('class')
  @Controller('outcomes')
  @UseInterceptors(Interceptor)
  class Handlers {
    constructor(@Inject(Service) private readonly service: Service) {}

    @Post()
    @on('handler', 'both')
    handle(): PromiseLike<object> {
      const handled = this.#handle();
      // oxlint-disable-next-line unicorn/no-thenable -- as a query builder has it
      return scenario.isForeign ? { then: handled.then.bind(handled) } : handled;
    }

    async #handle(): Promise<object> {
      running += 1;
      try {
        await this.service.add();
        failAt('handler');
        return { by: 'handler' };
      } finally {
        running -= 1;
      }
    }
  }

  const rootOf = (withFilter: boolean): new () => object => {
    class RootModule {}
    Module({
      imports: [subject.module()],
      controllers: [Handlers],
      providers: [Service, Interceptor, ...(withFilter ? [{ provide: APP_FILTER, useClass: Filter }] : [])],
    })(RootModule);
    return RootModule;
  };
  return {
    rootOf,
    begin: (next: Scenario): void => {
      scenario = next;
      calls = 0;
    },
    isOver: (): boolean => running === 0,
  };
}
