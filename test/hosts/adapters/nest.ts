import 'reflect-metadata';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { IContainer } from '@ambit/container';
import { AmbitModule, problemOf, Transactional } from '@ambit/nest';
import {
  type ArgumentsHost,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  HttpCode,
  Module,
  NotFoundException,
  Next,
  RequestMapping,
  RequestMethod,
  Req,
  Res,
  StreamableFile,
  UseGuards,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import express, { type Response } from 'express';
import type { FastifyReply } from 'fastify';
import type { AppDescription, Call, Exception, Host, Reply, Route, RunningHost } from '@ambit/testing/hosts';
import { BODY_LIMIT } from '@ambit/testing/tools';

/** What differs between the platforms. */
interface Platform {
  readonly name: string;
  create(root: object, before: AppDescription['before']): Promise<NestExpressApplication | NestFastifyApplication>;
  setHeaders(response: object, headers: Readonly<Record<string, string>>): void;
  send(response: object, reply: Reply): void;
  fail(response: object, error: unknown, next: (error: unknown) => void): void;
}

const onExpress: Platform = {
  name: 'Express',
  create: async (root, before) => {
    const instance = express();
    if (before) instance.use((req, _res, next) => void before(req, next));
    const app = await NestFactory.create<NestExpressApplication>(root as never, new ExpressAdapter(instance), {
      logger: false,
      abortOnError: false,
    });
    app.useBodyParser('json', { limit: BODY_LIMIT });
    return app;
  },
  setHeaders: (response, headers) => void (response as Response).set(headers),
  send: (response, reply) => {
    const res = response as Response;
    if (reply.kind === 'json') res.status(reply.status ?? 200).json(reply.body);
    else if (reply.kind === 'text') res.send(reply.text);
    else if (reply.kind === 'end') res.end(reply.text);
    else if (reply.kind === 'status') res.sendStatus(reply.status);
    else if (reply.kind === 'redirect') res.redirect(reply.to);
    else pipeline(reply.stream, res, () => undefined);
  },
  fail: (_response, error, next) => next(error),
};

const onFastify: Platform = {
  name: 'Fastify',
  create: async (root, before) => {
    const adapter = new FastifyAdapter({ bodyLimit: BODY_LIMIT });
    adapter.getInstance().addContentTypeParser('application/octet-stream', (_request, _payload, done) => done(null));
    if (before) adapter.getInstance().addHook('onRequest', ({ raw }, _reply, done) => void before(raw, done));
    return NestFactory.create<NestFastifyApplication>(root as never, adapter, {
      logger: false,
      abortOnError: false,
    });
  },
  setHeaders: (response, headers) => void (response as FastifyReply).headers(headers),
  send: (response, reply) => {
    const res = response as FastifyReply;
    if (reply.kind === 'json') void res.code(reply.status ?? 200).send(reply.body);
    else if (reply.kind === 'text') void res.send(reply.text);
    else if (reply.kind === 'status') void res.code(reply.status).send();
    else if (reply.kind === 'redirect') void res.redirect(reply.to, 302);
    else if (reply.kind === 'stream') void res.send(reply.stream);
    else res.hijack().raw.end(reply.text);
  },
  fail: (response, error) => void (response as FastifyReply).send(error),
};

const BEFORE_NEST_12: readonly Exception[] = [
  {
    test: /Nest on Fastify.*(in the body of a request whose response has begun cuts the response|begins while its transaction waits for a connection)/,
    because:
      'Nest 10 and 11 leave a rejected promise where something throws after the response has begun, without Ambit, too',
  },
];

const EXCEPTIONS: readonly Exception[] = [
  ...('QUERY' in RequestMethod ? [] : [{ test: /with QUERY/, because: 'Nest 10 and 11 do not route QUERY' }]),
  {
    test: /without current there is no currentScope|invalid option is refused: \{ current/,
    because: 'the scope is always the current one: controllers, guards and providers are made once for all requests',
  },
  {
    test: /an error with \{ status(Code)?: 418 \} is responded to with that/,
    because:
      'Nest responds with 500 to what is no HttpException; packages/nest tests that its transaction is rolled back',
  },
  {
    test: /Nest on Fastify.*that has begun before the transaction is closed after a second/,
    because: 'Fastify completes the response, behind the head that was sent',
  },
  ...(new FastifyAdapter().getInstance().version.startsWith('4.') ? onFastify4() : []),
  ...(process.env['OLDER_NEST'] === undefined ? [] : BEFORE_NEST_12),
];

/** What Nest 10 is on; it does so without Ambit, too. */
function onFastify4(): Exception[] {
  return [
    {
      test: /Nest on Fastify.*(stores a session|waits for a session)/,
      because: 'Fastify 4 responds a second time where a middleware ends the response later than it',
    },
    {
      test: /Nest on Fastify.*a request that says HTTP\/2 on a connection of HTTP\/1/,
      because: 'Fastify 4 passes such a request to no hook',
    },
  ];
}

/** Handlers that respond by `@Res()`, as those of the platform do. */
export const nestOnExpress = hostOn(onExpress, false);
export const nestOnFastify = hostOn(onFastify, false);
/** Handlers that return what Nest sends, where that is possible. */
export const returningOnExpress = hostOn(onExpress, true);
export const returningOnFastify = hostOn(onFastify, true);

function hostOn(platform: Platform, returns: boolean): Host {
  return {
    name: `Nest on ${platform.name}, with handlers that ${returns ? 'return' : 'respond'}`,
    exceptions: EXCEPTIONS,
    holdsResponse: !returns,
    start: (description) => start(platform, returns, description),
  };
}

async function start(
  platform: Platform,
  returns: boolean,
  {
    container,
    routes,
    onDisposeError,
    ownErrorHandler = true,
    limits,
    before,
    onError,
    scopeOptions: { parent, ...scopeOptions } = {},
  }: AppDescription,
): Promise<RunningHost> {
  class AppModule {}
  Module({
    imports: [
      AmbitModule.forRoot({
        container: parent ?? container,
        verify: false,
        onDisposeError,
        ...limits,
        ...scopeOptions,
      }),
    ],
    controllers: routes.map((route) => controllerOf(route, platform, returns)),
  })(AppModule);
  const app = await platform.create(AppModule, before);
  if (ownErrorHandler) app.useGlobalFilters(filterOf(app, onError));
  await app.listen(0, '127.0.0.1');
  return {
    port: (app.getHttpServer().address() as AddressInfo).port,
    close: async () => {
      await app.close();
      if (parent) await container.dispose();
    },
  };
}

interface Adapter {
  isHeadersSent(response: object): boolean;
  setHeader(response: object, name: string, value: string): unknown;
  end(response: object): void;
  reply(response: object, body: unknown, status: number): void;
}

function filterOf(app: { getHttpAdapter(): Adapter }, onError: (error: unknown) => void): ExceptionFilter {
  class OwnFilter implements ExceptionFilter {
    catch(error: unknown, host: ArgumentsHost): void {
      const response = host.getArgByIndex<object>(1);
      const adapter = app.getHttpAdapter();
      if (error instanceof NotFoundException) return adapter.reply(response, { error: 'Not found' }, 404);
      onError(error);
      if (adapter.isHeadersSent(response)) return adapter.end(response);
      const { status, headers, body } = problemOf(error);
      for (const [name, value] of Object.entries(headers)) adapter.setHeader(response, name, value);
      // NestJS 11 gives an object another content type.
      return adapter.reply(response, JSON.stringify(body), status);
    }
  }
  Catch()(OwnFilter);
  return new OwnFilter();
}

interface OnPlatform<Raw> {
  readonly raw?: Raw;
  readonly body: unknown;
}

function rawOf<Raw>(value: Raw | OnPlatform<Raw>): Raw {
  return (value as OnPlatform<Raw>).raw ?? (value as Raw);
}

interface Scoped {
  readonly container: IContainer;
  readonly transactionScope?: IContainer;
}

function controllerOf(route: Route, platform: Platform, returns: boolean): new () => object {
  class RouteController {
    async handle(request: object, response: object, next: (error: unknown) => void): Promise<unknown> {
      const raw = rawOf(request as OnPlatform<IncomingMessage>) as unknown as Scoped;
      const res = rawOf(response as OnPlatform<ServerResponse>);
      route.wrap?.behind?.(res);
      let failure: { readonly error: unknown } | undefined;
      let hasResponded = false;
      const call: Call = {
        scope: raw.container,
        get transactionScope() {
          return raw.transactionScope as IContainer;
        },
        body: (request as OnPlatform<unknown>).body,
        readBody: () => text(rawOf(request as OnPlatform<IncomingMessage>)),
        header: (name) => (request as IncomingMessage).headers[name],
        res,
        setHeaders: (headers) => platform.setHeaders(response, headers),
        respond: async (reply) => {
          hasResponded = true;
          platform.send(response, reply);
        },
        fail: (error) => {
          if (returns) failure = { error };
          else platform.fail(response, error, next);
        },
      };
      const reply = await route.handle(call);
      if (failure) throw failure.error;
      if (returns && reply && !hasResponded) {
        if (reply.kind === 'json') {
          (response as Response).status(reply.status ?? 200);
          return reply.body;
        }
        if (reply.kind === 'text') return reply.text;
        if (reply.kind === 'stream') return new StreamableFile(reply.stream);
      }
      if (reply) platform.send(response, reply);
      // Nest would send what a handler returns that it takes for one that does not respond.
      return returns ? new Promise(() => undefined) : undefined;
    }
  }
  const { prototype } = RouteController;
  const method = (): PropertyDescriptor => Object.getOwnPropertyDescriptor(prototype, 'handle') as PropertyDescriptor;
  const decorate = (decorator: MethodDecorator): void => {
    const descriptor = method();
    decorator(prototype, 'handle', descriptor);
    Object.defineProperty(prototype, 'handle', descriptor);
  };
  Req()(prototype, 'handle', 0);
  (returns ? Res({ passthrough: true }) : Res())(prototype, 'handle', 1);
  if (!returns) Next()(prototype, 'handle', 2);
  if (route.transaction) decorate(Transactional(route.transaction));
  decorate(RequestMapping({ path: route.path, method: RequestMethod[route.method] }));
  decorate(HttpCode(200));
  if (route.wrap?.before) decorate(UseGuards(guardOf(route.wrap.before)));
  Controller()(RouteController);
  return RouteController;
}

/** It runs before the transaction begins. */
function guardOf(wrap: (res: ServerResponse) => void): CanActivate {
  return {
    canActivate: (context: ExecutionContext) => {
      wrap(rawOf(context.getArgByIndex<OnPlatform<ServerResponse>>(1)));
      return true;
    },
  };
}
