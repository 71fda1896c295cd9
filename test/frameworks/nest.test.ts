import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import type { IContainer } from '@ambit/container';
import { AmbitModule, problemOf, Transactional } from '@ambit/nest';
import {
  All,
  type ArgumentsHost,
  type CallHandler,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Module,
  type NestInterceptor,
  Res,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { RequestHandler, Response } from 'express';
import type { Observable } from 'rxjs';
import { type Application, middlewareContract, type Running } from './contract.js';
import { handlers, middlewares } from './express-middlewares.js';
import { FILE_REQUESTS, requestsTo } from './fixtures.js';

type Handle = (res: Response) => unknown;

/** A controller with one handler, whose decorators are functions here. */
function controllerOf(path: string, handle: Handle, decorators: readonly MethodDecorator[]): new () => object {
  class One {
    handle(res: Response): unknown {
      return handle(res);
    }
  }
  const method = Object.getOwnPropertyDescriptor(One.prototype, 'handle')!;
  Res()(One.prototype, 'handle', 0);
  for (const decorate of decorators) decorate(One.prototype, 'handle', method);
  Object.defineProperty(One.prototype, 'handle', method);
  Controller(path)(One);
  return One;
}

/** Works in the transaction, then runs middlewares of Express behind it, as `FileInterceptor()` does. */
class WorkInterceptor implements NestInterceptor {
  constructor(
    private readonly work: Application<unknown>['work'],
    private readonly behind: readonly RequestHandler[],
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const [req, res] = context.getArgs<Parameters<RequestHandler>>();
    await this.work((req as { transactionScope?: IContainer }).transactionScope);
    for (const middleware of this.behind)
      await new Promise<void>((resolve, reject) => {
        void middleware(req, res, (error?: unknown) => (error ? reject(error) : resolve()));
      });
    return next.handle();
  }
}

async function start({ middleware, transaction, work, onError }: Application<RequestHandler[]>): Promise<Running> {
  const decorators = [All(), ...(transaction ? [transactional(transaction.endTimeoutMs, onError)] : [])];
  const isBehind = transaction?.middlewareIs === 'behind';
  const files = isBehind ? FILE_REQUESTS.map(({ path }) => path) : [];
  const controllers = [
    ...Object.entries(handlers).map(([path, handle]) => controllerOf(path, handle, decorators)),
    ...[...new Set(files)].map((path) => controllerOf(path, () => undefined, decorators)),
  ];
  class AppModule {}
  Module({ imports: transaction ? [AmbitModule.forRoot(transaction)] : [], controllers })(AppModule);
  const app = await NestFactory.create(AppModule, new ExpressAdapter(), { logger: false, bodyParser: false });
  // Before the middlewares, as in an application of Express alone.
  app.getHttpAdapter().get('/ping', (_req: unknown, res: Response) => void res.end());
  if (!isBehind) app.use(...middleware);
  app.useGlobalInterceptors(new WorkInterceptor(work, isBehind ? middleware : []));
  app.useGlobalFilters(filterOf(onError));
  await app.listen(0, '127.0.0.1');
  return { port: (app.getHttpServer().address() as AddressInfo).port, close: () => app.close() };
}

function transactional(endTimeoutMs: number, onSecondResponse: (error: unknown) => void): MethodDecorator {
  return Transactional({ endTimeoutMs, onSecondResponse });
}

function filterOf(onError: (error: unknown) => void): ExceptionFilter {
  class OwnFilter implements ExceptionFilter {
    catch(error: unknown, host: ArgumentsHost): void {
      onError(error);
      const res = host.getArgByIndex<Response>(1);
      if (res.headersSent) return;
      const { status, headers, body } = problemOf(error);
      res.status(status).set(headers).json(body);
    }
  }
  Catch()(OwnFilter);
  return new OwnFilter();
}

middlewareContract({
  name: 'NestJS',
  middlewares,
  requests: requestsTo(handlers),
  start,
});
