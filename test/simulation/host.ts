import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { IContainer } from '@ambit/container';
import { drain } from '@ambit/http';
import { checkErrorHandler } from './moments.js';
import type { Visit } from './visit.js';

/** A host with an ordinary application on it, whose requests come from no network. */
export interface SimulatedHost {
  readonly name: string;
  /** Whether the handler's response commits, or the handler does. */
  readonly commits: boolean;
  /** The scope of a request that failed, when its error handler is called. */
  readonly scopeOnError: 'disposed' | 'open' | 'either';
  /** Whether applications open scopes by other means; where the host commits, the default is true. */
  readonly bringsScopes?: boolean;
  /** Whether a connection may have several requests. Default true. */
  readonly pipelines?: boolean;
  /** How many requests of a connection may be in progress, where that is the same in all runs. */
  readonly maxRequestsPerConnection?: number;
  /** Whether some runs close the server in the middle. Default true. */
  readonly closes?: boolean;
  /** Whether it waits for timers of Node in every run, so that each has to play alone. */
  readonly hasTimers?: boolean;
  /** Starts it, but for the listening. */
  serve(): Promise<Served>;
}

export interface Served {
  readonly server: Server;
  /** Stops as an application does on SIGTERM, and disposes the application container with it. */
  close(application: IContainer): Promise<void>;
}

export function statusOf(error: unknown): number {
  const { statusCode, unavailable } = Object(error) as { statusCode?: unknown; unavailable?: unknown };
  if (unavailable === true) return 503;
  return typeof statusCode === 'number' && statusCode >= 400 ? statusCode : 500;
}

/** An application may open its scopes by other means than ours. */
export function ownScope(
  { run }: Visit,
  req: IncomingMessage,
  res: ServerResponse,
  onDisposeError: () => void,
): IContainer {
  const scope = run.application.createScope({ tags: ['request'] });
  let isOver = false;
  const end = (): void => {
    if (!isOver) scope.dispose()?.catch(onDisposeError);
    isOver = true;
  };
  res.on('finish', end);
  req.socket.on('close', end);
  if (req.socket.closed) end();
  return scope;
}

/** An error handler has been called. Returns whether it takes its time. */
export function hearError(visit: Visit, error: unknown, transactionScope?: IContainer): boolean {
  visit.note(`error handler: ${String(error).split('\n')[0]}`);
  checkErrorHandler(visit, transactionScope);
  visit.isTooLate ||= Object(error).code === 'AMBIT_TX_TIMEOUT';
  return !visit.run.calm && visit.run.chance.of(0.4);
}

export function bodyOf(visit: Visit, error: unknown): object {
  return { mark: visit.mark, error: Object(error).code ?? 'failed' };
}

/** A server that `drain()` closes, and the application after it. */
export function drained(server: Server): Served {
  return {
    server,
    close: async (application) => {
      await drain(server);
      await application.dispose();
    },
  };
}
