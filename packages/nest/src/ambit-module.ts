import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Container } from '@ambit/container';
import { type ScopeDeclaration, verify, type VerifyOptions } from '@ambit/container/tools';
import { drainScopes } from '@ambit/container/work';
import { drain, type DrainOptions, type ScopedRequest } from '@ambit/http';
import { checkFunctions, invalidOption, type ParentScope, type RequestOptions } from '@ambit/http/host';
import { ConnectedRequest, type LoadOptions, RequestHost, shareShapes } from '@ambit/http/node';
import {
  type DynamicModule,
  type FactoryProvider,
  Global,
  type HttpServer,
  Inject,
  Logger,
  Module,
  type ModuleMetadata,
  type Provider,
} from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { ErrorFilter } from './error-filter.js';
import { HeldRoute } from './held-route.js';
import { methodInScope, SCOPE_SETTINGS, type ScopeSettings } from './in-scope.js';
import { standIns } from './inject-scoped.js';
import { methodNames, observeReplies, provideToLaterModules } from './nest-internals.js';
import { ScopeInterceptor } from './scope-interceptor.js';
import { connectionOf } from './transactional.js';

/** The container, how the scopes of requests and messages are opened, and how the application shuts down. */
export interface AmbitModuleOptions
  extends LoadOptions, Omit<RequestOptions<IncomingMessage>, 'current'>, Omit<DrainOptions, 'onError'> {
  /**
   * The application container, which `app.close()` disposes; or a function of the request that returns the scope above the request's:
   * what it returns is disposed by the code that made it.
   */
  readonly container: ParentScope<IncomingMessage>;
  /**
   * Tells if the dependencies of an Ambit container are checked when the application starts; or the scopes that it opens, where these are
   * others than those of requests and their transactions, and `{ noEscape: true }`. Default `true`.
   */
  readonly verify?: boolean | readonly (ScopeDeclaration | VerifyOptions)[];
  /** Called when the scope of a request or message failed to dispose. Default: Nest's logger. */
  readonly onDisposeError?: (error: unknown) => unknown;
  /** Called with a response in a transaction that was dropped, as another one came first. Default: Nest's logger. */
  readonly onSecondResponse?: (error: unknown, request: IncomingMessage) => void;
}

/** How the options are made of other providers. */
export interface AmbitModuleAsyncOptions
  extends Pick<ModuleMetadata, 'imports'>, Pick<FactoryProvider<AmbitModuleOptions>, 'inject' | 'useFactory'> {}

/** The token of the application container, to inject it into a provider, or to override it in a test. */
export const APPLICATION_CONTAINER: unique symbol = Symbol('the container of AmbitModule');

const OPTIONS = Symbol('the options of AmbitModule.forRoot()');

const REQUEST_TAGS = ['request'];

/**
 * Gives every HTTP request and every message of a microservice a scope, which is the current one for all that it causes: guards, pipes,
 * interceptors, handlers, and the exception filters of HTTP requests. Import it once, in the root module: it is global.
 *
 * The container is verified when the application starts, and disposed when it is closed, behind the requests in progress.
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { Module } from '@nestjs/common';
 *
 * @Module({ imports: [AmbitModule.forRoot({ container: new Container({ tags: ['application'] }) })] })
 * class AppModule {}
 * ```
 */
export class AmbitModule {
  readonly #options: AmbitModuleOptions;
  readonly #container: ParentScope<IncomingMessage>;
  readonly #adapterHost: HttpAdapterHost;
  readonly #modules: ModulesContainer;
  readonly #host: RequestHost;
  /** @internal For `@InScope()`. */
  readonly scopeSettings: ScopeSettings;
  #isAttached = false;

  /** @internal */
  constructor(
    options: AmbitModuleOptions,
    container: ParentScope<IncomingMessage>,
    adapterHost: HttpAdapterHost,
    config: ApplicationConfig,
    modules: ModulesContainer,
  ) {
    const logger = new Logger('AmbitModule');
    const {
      tags = REQUEST_TAGS,
      onDisposeError = (error) => logger.error(error),
      onSecondResponse = (error) => logger.error(error),
    } = options;
    checkFunctions(options, 'onDisposeError', 'onSecondResponse');
    if (config.getGlobalInterceptors().some((other) => other instanceof ScopeInterceptor))
      throw invalidOption('AmbitModule.forRoot() is imported twice: import it in the root module only');
    if ((container as { disposed?: boolean }).disposed)
      throw invalidOption(
        'the container of AmbitModule.forRoot() is disposed: app.close() of another application in this process has done that. Make one for each application: AmbitModule.forRootAsync({ useFactory: () => ({ container: createContainer() }) })',
      );
    this.#options = { ...options, tags };
    this.#container = container;
    this.#adapterHost = adapterHost;
    this.#modules = modules;
    const scopes = { ...options, onDisposeError, current: true };
    this.#host = RequestHost.over<IncomingMessage>(container, scopes, 'AmbitModule.forRoot()');
    this.scopeSettings = { container, tags, onDisposeError };
    // Before those of other modules and of the application: interceptors are called in this order, and filters are looked for in the reverse.
    config.addGlobalInterceptor(new ScopeInterceptor({ ...this.scopeSettings, onSecondResponse }));
    config.addGlobalFilter(new ErrorFilter(() => adapterHost.httpAdapter));
    this.#attach();
    // In a test the adapter comes later; Nest 10 does not say when.
    adapterHost.init$?.subscribe(() => this.#attach());
    provideToLaterModules(modules, AmbitModule, standIns);
  }

  /**
   * The module with the options as they are.
   *
   * @param options - the container, and how its scopes are opened
   * @returns the module, to import in the root module
   */
  static forRoot(options: AmbitModuleOptions): DynamicModule {
    return moduleWith({ provide: OPTIONS, useFactory: () => options });
  }

  /**
   * The module with options that other providers are needed for, such as the configuration.
   *
   * @param options - what makes the options
   * @returns the module, to import in the root module
   */
  static forRootAsync({ imports = [], inject = [], useFactory }: AmbitModuleAsyncOptions): DynamicModule {
    return moduleWith({ provide: OPTIONS, inject, useFactory }, imports);
  }

  /** @internal */
  configure(): void {
    this.#attach();
  }

  /** @internal Refuses to start with what would go wrong later. */
  onModuleInit(): void {
    const classes = [...this.#modules.values()].flatMap(({ controllers, providers }) => [
      ...controllers.values(),
      ...providers.values(),
    ]);
    const connections = new Set(classes.flatMap(({ metatype }) => connectionsOf(metatype)));
    this.#verify([...connections]);
  }

  #verify(connections: readonly string[]): void {
    const { tags, verify: scopes = true } = this.#options;
    const container = this.#container;
    if (!(container instanceof Container) || scopes === false) return;
    const registers = connections.length > 0 || !container.has('IDatabasePool') ? connections : ['IConnection'];
    const inTransaction = { tags: ['transaction'], registers };
    const ofRequest = {
      tags: tags as string[],
      registers: ['IRequestSignal', 'IShutdownSignal'],
      scopes: registers.length > 0 ? [inTransaction] : [],
    };
    const given = scopes === true ? [] : scopes;
    verify(container, ...(given.some((one) => 'tags' in one) ? [] : [ofRequest]), ...given);
  }

  /** @internal Responds to the requests in progress, and closes the server. */
  async beforeApplicationShutdown(): Promise<void> {
    const server = this.#adapterHost.httpAdapter?.getHttpServer();
    if (server) await drain(server, this.#options);
    // Requests that were injected have no connection.
    await this.#host.scopes.drain(this.#options);
  }

  /** @internal Waits for messages in progress, then disposes the container. */
  async onApplicationShutdown(): Promise<void> {
    const container = this.#container;
    if (typeof container === 'function') return;
    await drainScopes(container, this.#options);
    await container.dispose();
  }

  /** Before every other middleware, also those of the application. */
  #attach(): void {
    const adapter = this.#adapterHost.httpAdapter as HttpServer | undefined;
    if (this.#isAttached || !adapter) return;
    this.#isAttached = true;
    observeReplies(adapter, HeldRoute.of);
    const isExpress = adapter.getType() === 'express';
    adapter.use((req: ScopedRequest, res: ServerResponse, next: (error?: unknown) => void) => {
      if (isExpress) shareShapes(req, res);
      const request = new ConnectedRequest(req, res, this.#host);
      request.open((error) => {
        const { scope } = request;
        if (scope) req.container = scope;
        next(error);
      });
    });
  }
}

Module({})(AmbitModule);
Global()(AmbitModule);
for (const [index, token] of [
  OPTIONS,
  APPLICATION_CONTAINER,
  HttpAdapterHost,
  ApplicationConfig,
  ModulesContainer,
].entries())
  Inject(token)(AmbitModule, undefined, index);

function moduleWith(options: Provider, imports: ModuleMetadata['imports'] = []): DynamicModule {
  const container: Provider = {
    provide: APPLICATION_CONTAINER,
    inject: [OPTIONS],
    useFactory: ({ container: given }: AmbitModuleOptions) => given,
  };
  const scopeSettings: Provider = {
    provide: SCOPE_SETTINGS,
    inject: [AmbitModule],
    useFactory: (module: AmbitModule) => module.scopeSettings,
  };
  const module: DynamicModule & { id: string } = {
    // Nest 10 takes two modules that look the same for one, and would ignore the options of the second.
    id: randomUUID(),
    module: AmbitModule,
    imports,
    // Nest asks when the application is made: by then the classes of all modules have named their keys.
    get providers() {
      return [options, container, scopeSettings, ...standIns()];
    },
    get exports() {
      return [
        APPLICATION_CONTAINER,
        SCOPE_SETTINGS,
        ...standIns().map((provider) => (provider as { provide: symbol }).provide),
      ];
    },
  };
  return module;
}

/** The keys of the connections of all transactional methods of a class, whose options are checked. */
function connectionsOf(metatype: unknown): string[] {
  const { name, prototype } = Object(metatype) as { name: string; prototype?: Record<string, object> | null };
  if (typeof metatype !== 'function' || !prototype) return [];
  return methodNames(prototype).flatMap((method) => {
    const decorated = prototype[method] as object;
    return connectionOf(methodInScope(decorated) ?? decorated, name) ?? [];
  });
}
