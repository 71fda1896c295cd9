import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/*
 * Private fields of Node and of light-my-request, which is behind `inject()`. Nothing public tells the same:
 * - `socket.parser`: set on sockets that speak HTTP/1. Its `incoming` is the request that came last, until it is answered.
 * - `socket._handle`: Node stops it while its parser reads from it directly, and when a listener for `data` takes
 *   over it stays stopped, though `reading` is true.
 * - `socket._httpMessage`: the response that is being sent.
 * - `response.finished`: what `closeIdleConnections()` looks at, though a slow client may not have all of it yet.
 */
interface ServedSocket extends Socket {
  readonly parser?: { readonly incoming?: IncomingMessage | null } | null;
  readonly _httpMessage?: ServerResponse | null;
  readonly _handle?: { readonly reading?: boolean; readStart(): number } | null;
}

/** Whether a socket that speaks HTTP/1 has no request to answer, though half of one may have come. */
export function answersNothing(socket: Socket): boolean {
  const { parser, _httpMessage } = socket as ServedSocket;
  return Boolean(parser && !_httpMessage);
}

/** Whether no request came behind this one on its connection; a middleware may have kept one that did. */
export function isLast({ req }: ServerResponse): boolean {
  return (req.socket as ServedSocket).parser?.incoming === req;
}

/** Reads from a socket that has got a listener for `data`. */
export function readOn(socket: Socket): void {
  const { _handle: handle } = socket as ServedSocket;
  if (handle?.reading) handle.readStart();
}

/** After CONNECT, Node no longer tells the response when its socket takes more. */
export function passOnDrain(socket: Socket): void {
  socket.on('drain', () => void (socket as ServedSocket)._httpMessage?.emit('drain'));
}

/** To Node these responses are in progress as long as `act` runs. */
export function whileUnfinished(responses: readonly { finished: boolean }[], act: () => void): void {
  for (const response of responses) response.finished = false;
  act();
  for (const response of responses) response.finished = true;
}

/** What light-my-request sets on its responses. With `payloadAsStream` nobody is told when the caller destroys the stream. */
interface InjectedResponse {
  readonly isLightMyRequest?: boolean;
  readonly _lightMyRequest?: { readonly stream?: { readonly destroyed: boolean } };
}

/** Whether an injected request has a caller that takes no more of the response. */
export function isAbandoned(response: object): boolean {
  return (response as InjectedResponse)._lightMyRequest?.stream?.destroyed === true;
}

/** Whether an injected request has its whole response: `finish` is emitted before `writableFinished` is true. */
export function isInjectedWhole(response: ServerResponse): boolean {
  return (response as InjectedResponse).isLightMyRequest === true && response.writableEnded && !isAbandoned(response);
}
