import type { IContainer } from '@ambit/container';
import { createHandler, type FetchHandler, withTransaction } from '@ambit/fetch';

declare const container: IContainer;

/** `exactly<A>()(b)(true)` compiles when the type of `b` is `A` and nothing else. */
const exactly =
  <A>() =>
  <B>(_value: B) =>
  (_same: (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false): void => {};

interface NextRequest extends Request {
  readonly nextUrl: URL;
}
interface Connection {
  readonly ip: string;
}
declare const request: Request;
declare const nextRequest: NextRequest;

// The signal is typed, and a context is optional where the handler asks for none.
const plain = createHandler(container, (_request, scope) => {
  exactly<AbortSignal>()(scope.resolve('IRequestSignal'))(true);
  return new Response('hello');
});
exactly<FetchHandler>()(plain)(true);
exactly<Promise<Response>>()(plain(request))(true);
plain(request, { anything: true });
plain.drain({ timeoutMs: 1000 });
exactly<number>()(plain.openRequests)(true);

// A context that the handler asks for has to be given.
const withIp = createHandler(container, (_request, _scope, { ip }: Connection) => new Response(ip));
withIp(request, { ip: '10.0.0.1' });
// error: Expected 2 arguments
withIp(request);
// error: 'ip' is missing
withIp(request, {});

// The request may be that of a framework, in the handler and in the options.
const next = createHandler(container, ({ nextUrl }: NextRequest) => new Response(nextUrl.href), {
  register: (_scope, { nextUrl }) => nextUrl.href,
});
next(nextRequest);
// error: 'nextUrl' is missing
next(request);

// An upgraded connection has no response.
const upgrading = createHandler(container, (): Response | undefined => undefined);
exactly<Promise<Response | undefined>>()(upgrading(request))(true);

// A transaction changes nothing of the types.
const transactional = createHandler(
  container,
  withTransaction(async (_request, _scope, { ip }: Connection) => new Response(ip), { readOnly: true }),
);
// error: Expected 2 arguments
transactional(request);
// error: does not exist in type 'RequestTransactionOptions
withTransaction(() => new Response(''), { signal: request.signal });

// error: Type 'string' is not assignable to type
createHandler(container, () => 'hello');
// error: does not exist in type 'HandlerOptions
createHandler(container, () => new Response(''), { tag: ['request'] });
