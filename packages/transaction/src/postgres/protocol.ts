import { connect } from 'node:net';
import { LONGEST_MS } from '../clock.js';
import type { ExecuteOptions, ExecuteResult } from '../contract.js';

/** The members of a `QueryResult` of `pg` that become a result. */
export interface PgResult {
  /** The rows, as objects or as arrays. */
  readonly rows: readonly unknown[];
  /** How many rows the command counted. */
  readonly rowCount: number | null;
  /** The command, such as `UPDATE`. */
  readonly command: string;
  /** The columns, and the numbers of their types. */
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
}

/**
 * The result of a statement of `pg`, as `execute()` gives it.
 *
 * @param result - what `pg` returned
 * @returns the same without what belongs to the driver
 */
export function resultOfPg(result: PgResult): ExecuteResult<never> {
  const { rows, rowCount, command, fields } = result;
  return {
    rows: rows as never[],
    rowCount,
    command,
    fields: fields.map(({ name, dataTypeID }) => ({ name, dataTypeID })),
  };
}

/** A client of `pg`; its `connection` is not declared. */
interface StatusClient {
  /** From `pg` 8.21 on. */
  getTransactionStatus?(): string | null;
  readonly connection?: { on(event: 'readyForQuery', listener: (message: { status: string }) => void): unknown };
}

/**
 * Reads what the server says of the transaction with every response, on clients of `pg` that do not keep it, too.
 *
 * @param client - a client of `pg`, or of a driver that is made of it; call this once for each
 * @returns gives `I` outside of a transaction, `T` in one, `E` in one that has failed, and nothing before the first response
 */
export function transactionStatusOf(client: object): () => string | null {
  const known = client as StatusClient;
  if (known.getTransactionStatus) return () => known.getTransactionStatus?.() ?? null;
  let last: string | null = null;
  known.connection?.on('readyForQuery', ({ status }) => (last = status));
  return () => last;
}

type Parsers = Required<ExecuteOptions>['types'];
type Parse = (text: string) => unknown;

const FLOAT8_ARRAY = 1022;
const NUMERIC_ARRAY = 1231;
const TEXT_ARRAY = 1009;

/**
 * The parsers of a caller, with those of the driver where the caller has none. `pg` catches what a parser throws, but not what
 * `getTypeParser()` itself throws: that would crash the process. It also rounds the elements of `numeric[]`, which it reads as numbers;
 * where the application has set no parser of its own, they come as text, like `numeric`.
 *
 * @param types - the option `types` of `execute()`
 * @param ofDriver - what gives the driver's own parsers
 * @returns what `pg` takes as `types`
 */
export function safeTypes(
  types: Parsers | undefined,
  ofDriver: { getTypeParser(oid: number, format?: never): unknown },
): { getTypeParser(oid: number, format?: string): Parse } {
  const own = (oid: number, format?: string): Parse => ofDriver.getTypeParser(oid, format as never) as Parse;
  return {
    getTypeParser: (oid, format) => {
      try {
        const parse = types?.getTypeParser(oid, format) ?? own(oid, format);
        return oid === NUMERIC_ARRAY && parse === own(FLOAT8_ARRAY, format) ? own(TEXT_ARRAY, format) : parse;
      } catch (error) {
        return () => {
          throw error;
        };
      }
    },
  };
}

const CANCEL_REQUEST = 80_877_102;
const SSL_REQUEST = 80_877_103;

interface Address {
  /** The machine, or the folder of the socket. */
  readonly host: string;
  /** The port of the server. */
  readonly port: number;
}

/** A session of PostgreSQL, as its server named it when it began. */
export interface PostgresBackend extends Address {
  /** The process of the session. */
  readonly processId: number;
  /** Proves that a cancel request comes from the client of the session. */
  readonly secretKey: number;
}

/**
 * The protocol's own cancel request, on a socket of its own: it needs no place in the pool and no login. It travels
 * in clear text, as libpq's did up to version 16; it carries no data, only the key of the one backend. Best effort: if the
 * request does not arrive, the caller cuts the connection instead.
 *
 * @param backend - the session whose statement is cancelled
 * @param timeoutMs - how long the server may take
 */
export function requestCancel(backend: PostgresBackend, timeoutMs: number): void {
  void send(backend, [CANCEL_REQUEST, backend.processId, backend.secretKey], timeoutMs);
}

/**
 * Whether the server is there. PostgreSQL and poolers respond to the request for TLS with one byte, without a login. A
 * server that refuses or closes the connection is there, too.
 */
export function serverResponds({ host, port }: Address, timeoutMs: number): Promise<boolean> {
  return send({ host, port }, [SSL_REQUEST], timeoutMs);
}

/** Resolves with whether the other side reacted in time. */
function send({ host, port }: Address, numbers: readonly number[], timeoutMs: number): Promise<boolean> {
  const message = Buffer.alloc(4 + 4 * numbers.length);
  [message.length, ...numbers].forEach((number, index) => message.writeInt32BE(number, 4 * index));
  return new Promise((resolve) => {
    const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    const settle = (reacted: boolean): void => {
      socket.destroy();
      resolve(reacted);
    };
    socket.setTimeout(Math.min(timeoutMs, LONGEST_MS), () => settle(false));
    for (const reaction of ['data', 'error', 'close'] as const) socket.on(reaction, () => settle(true));
    socket.write(message);
  });
}
