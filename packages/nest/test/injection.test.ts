import { hasTag, Registration, runInScope, scope, singleton } from '@ambit/container';
import { APPLICATION_CONTAINER, AmbitModule, InjectScoped, scopedProvider } from '@ambit/nest';
import type { DatabasePool } from '@ambit/transaction';
import {
  Controller,
  Get,
  type INestApplication,
  Inject,
  Injectable,
  Module,
  type OnModuleInit,
  Scope,
  VersioningType,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, LazyModuleLoader, MetadataScanner } from '@nestjs/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { containerWith, create, openDatabase, PLATFORMS, rootModule, type Send, serve } from './support/app.js';

/** Counts in a private field, which only the instance has. */
class Counter {
  label = 'counter';
  #count = 0;

  next(): number {
    return (this.#count += 1);
  }
}

@Injectable()
class Provider {
  @InjectScoped('ICounter') readonly counter!: Counter;
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest {
  constructor(@InjectScoped(Counter) private readonly counter: Counter) {}

  next(): number {
    return this.counter.next();
  }
}
Reflect.defineMetadata('design:paramtypes', [Counter], PerRequest);

@Controller('counts')
class Counts {
  constructor(
    @InjectScoped('ICounter') private readonly counter: Counter,
    private readonly provider: Provider,
  ) {}

  @Get()
  count(@InjectScoped('ICounter') own: Counter): object {
    return {
      counts: [this.counter.next(), own.next(), this.provider.counter.next()],
      isInstance: own instanceof Counter,
    };
  }

  @Get('label')
  label(): object {
    const before = this.counter.label;
    this.counter.label = 'mine';
    return { before, after: this.counter.label, has: 'label' in this.counter };
  }
}
Reflect.defineMetadata('design:paramtypes', [Object, Provider], Counts);

@Controller('per-request')
class PerRequestController {
  constructor(private readonly perRequest: PerRequest) {}

  @Get()
  count(): object {
    return { counts: [this.perRequest.next(), this.perRequest.next()] };
  }
}
Reflect.defineMetadata('design:paramtypes', [PerRequest], PerRequestController);

@Injectable()
class Job {
  constructor(
    @Inject(APPLICATION_CONTAINER) readonly container: unknown,
    @InjectScoped('ICounter') readonly counter: Counter,
  ) {}
}

let pool: DatabasePool;
let app: INestApplication;
beforeEach(async () => ({ pool } = await openDatabase()));
afterEach(async () => {
  await app.close();
  await pool.close();
});

describe.each(PLATFORMS)('@InjectScoped() on $platform', ({ adapter }) => {
  const open = async (prepare: (made: INestApplication) => void = () => undefined): Promise<Send> => {
    const container = containerWith(pool, { ICounter: () => new Counter() });
    const perRequest = [singleton(), scope(hasTag('request'))] as const;
    container.addRegistration(
      Registration.fromFactory(() => new Counter())
        .pipe(...perRequest)
        .to(Counter),
    );
    @Module({ controllers: [PerRequestController], providers: [PerRequest] })
    class FeatureModule {}
    const root = rootModule(
      { container },
      { imports: [FeatureModule], controllers: [Counts], providers: [Provider, Job] },
    );
    app = await create(root, adapter);
    prepare(app);
    return serve(app);
  };

  it('gives handlers, constructors and properties the instance of the request', async () => {
    const send = await open();
    const all = await Promise.all([send('GET', '/counts'), send('GET', '/counts')]);
    expect(all.map(({ body }) => body)).toEqual([
      { counts: [1, 2, 3], isInstance: true },
      { counts: [1, 2, 3], isInstance: true },
    ]);
  });

  it('reads and writes the fields of the instance', async () => {
    const send = await open();
    const expected = { before: 'counter', after: 'mine', has: true };
    expect((await send('GET', '/counts/label')).body).toEqual(expected);
    expect((await send('GET', '/counts/label')).body).toEqual(expected);
  });

  it("works in providers of Nest's own Scope.REQUEST, in other modules, by class", async () => {
    const send = await open();
    expect((await send('GET', '/per-request')).body).toEqual({ counts: [1, 2] });
  });

  it('works behind a global prefix and versions', async () => {
    const send = await open((made) => {
      made.setGlobalPrefix('api');
      made.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
    });
    expect((await send('GET', '/api/v1/counts')).body).toMatchObject({ counts: [1, 2, 3] });
  });

  it('works in a module that is loaded later, and names a key of its own', async () => {
    await open();
    @Injectable()
    class Late {
      constructor(@InjectScoped('ILate') readonly late: Counter) {}
    }
    @Module({ providers: [Late] })
    class LateModule {}
    const module = await app.get(LazyModuleLoader).load(() => LateModule);
    const container = app.get<ReturnType<typeof containerWith>>(APPLICATION_CONTAINER);
    await using requestScope = container.createScope({ tags: ['request'] });
    requestScope.register('ILate', () => new Counter());
    expect(runInScope(requestScope, () => module.get(Late).late.next())).toBe(1);
  });

  it('outside of a request says so, unless the scope is another one', async () => {
    await open();
    const { counter, container } = app.get(Job);
    const message = expect.stringMatching(/ICounter is of a scope.*: put @InScope\(\)/) as string;
    expect(() => counter.next()).toThrow(expect.objectContaining({ code: 'AMBIT_NO_SCOPE', message }));
    await using requestScope = (container as ReturnType<typeof containerWith>).createScope({ tags: ['request'] });
    expect(runInScope(requestScope, () => counter.next())).toBe(1);
  });
});

describe('scopedProvider()', () => {
  it('gives a service of the request under a token that the application injects already', async () => {
    const TOKEN = 'CounterRepository';
    @Controller('tokens')
    class Tokens {
      constructor(
        readonly byClass: Counter,
        @Inject(TOKEN) readonly byToken: Counter,
      ) {}

      @Get()
      count(): object {
        return { counts: [this.byClass.next(), this.byToken.next()] };
      }
    }
    Reflect.defineMetadata('design:paramtypes', [Counter, Object], Tokens);
    const providers = [scopedProvider(Counter, 'ICounter'), scopedProvider(TOKEN, 'ICounter')];
    const container = containerWith(pool, { ICounter: () => new Counter() });
    app = await create(rootModule({ container }, { controllers: [Tokens], providers }), PLATFORMS[0].adapter);
    const send = await serve(app);
    expect((await send('GET', '/tokens')).body).toEqual({ counts: [1, 2] });
    expect((await send('GET', '/tokens')).body).toEqual({ counts: [1, 2] });
  });

  it('is skipped by what looks for decorated methods in all providers', async () => {
    // As the explorers of @nestjs/schedule, @nestjs/event-emitter and others do.
    @Injectable()
    class Explorer implements OnModuleInit {
      readonly found: string[] = [];
      constructor(
        private readonly discovery: DiscoveryService,
        private readonly scanner: MetadataScanner,
      ) {}

      onModuleInit(): void {
        for (const { instance } of this.discovery.getProviders()) {
          const target = instance as Record<string, unknown> | null;
          if (!target || !Object.getPrototypeOf(target)) continue;
          for (const name of this.scanner.getAllMethodNames(Object.getPrototypeOf(target) as object))
            if (target[name] !== undefined) this.found.push(name);
        }
      }
    }
    Reflect.defineMetadata('design:paramtypes', [DiscoveryService, MetadataScanner], Explorer);
    const providers = [Explorer, Provider, scopedProvider('token', 'ICounter')];
    const container = containerWith(pool, { ICounter: () => new Counter() });
    app = await create(rootModule({ container }, { imports: [DiscoveryModule], providers }), PLATFORMS[0].adapter);
    await app.init();
    expect(app.get(Explorer).found).toContain('onModuleInit');
  });
});

describe('AmbitModule', () => {
  it('takes its options from other providers', async () => {
    const OWN = Symbol('own');
    @Module({
      providers: [{ provide: OWN, useFactory: async () => containerWith(pool, { ICounter: () => new Counter() }) }],
      exports: [OWN],
    })
    class OwnModule {}
    @Module({
      imports: [
        AmbitModule.forRootAsync({
          imports: [OwnModule],
          inject: [OWN],
          useFactory: (container: ReturnType<typeof containerWith>) => ({ container }),
        }),
      ],
      controllers: [Counts],
      providers: [Provider],
    })
    class RootModule {}
    app = await create(RootModule, PLATFORMS[0].adapter);
    expect((await (await serve(app))('GET', '/counts')).body).toMatchObject({ counts: [1, 2, 3] });
  });
});
