import type { IncomingMessage, ServerResponse } from 'node:http';
import type { IContainer } from '@ambit/container';
import type { Visit } from './visit.js';

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
