import { inspect } from 'node:util';
import { TransactionError } from '../core/errors.js';

/** What a server must be like, in the words of libpq. */
const TARGETS = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const;
/** What a server must be, in the words of libpq's `target_session_attrs`: such as `primary`, or `any` to read on a standby too. */
export type TargetSessionAttrs = (typeof TARGETS)[number];

/** The address of one host, in the options of the driver. */
interface Address {
  readonly connectionString?: string;
  readonly host?: string;
  readonly port?: number;
}

export interface Servers {
  /** In the order in which they are tried. */
  readonly addresses: readonly Address[];
  readonly target: TargetSessionAttrs | undefined;
}

interface ServerOptions {
  readonly connectionString?: string;
  readonly host?: string;
  readonly port?: number;
  readonly targetSessionAttrs?: TargetSessionAttrs;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What the options, the connection string and libpq's environment variables say; the connection string wins, as in `pg`. */
export function readServers(options: ServerOptions, env: Environment = process.env): Servers {
  const { connectionString, port } = options;
  const asked = connectionString === undefined ? undefined : queryOf(connectionString).get('target_session_attrs');
  const target = asked ?? options.targetSessionAttrs ?? env['PGTARGETSESSIONATTRS'];
  if (target !== undefined && !isTarget(target)) {
    const known = `one of ${TARGETS.join(', ')}`;
    throw new TransactionError('AMBIT_TX_OPTION', `target_session_attrs must be ${known}, not ${inspect(target)}`);
  }
  if (connectionString !== undefined) {
    return { addresses: splitHosts(connectionString).map((one) => ({ connectionString: one })), target };
  }
  const ofEnvironment = options.host === undefined;
  const host = ofEnvironment ? env['PGHOST'] : options.host;
  const ports = port === undefined && ofEnvironment ? env['PGPORT'] : port?.toString();
  const addresses = pair(host, ports).map((one) => ({
    ...(one.host === undefined ? {} : { host: one.host }),
    ...(one.port === undefined ? {} : { port: Number(one.port) }),
  }));
  return { addresses, target };
}

function isTarget(target: string): target is TargetSessionAttrs {
  return (TARGETS as readonly string[]).includes(target);
}

/** User and password end at the last `@` before the path, as in a URL. */
const PARTS = /^(?<start>postgres(?:ql)?:\/\/(?:[^/?#]*@)?)(?<hosts>[^/?#]*)(?<path>[^?]*)(?<query>[^]*)$/i;

/**
 * One connection string for each host of a connection string, which may list several as libpq's does:
 * `postgres://h1:5432,h2:5432/shop`, or `?host=h1,h2`.
 *
 * @param connectionString - a connection string of libpq
 * @returns a connection string for each host, in their order; a text that is no such string as it is
 * @throws `TransactionError` `AMBIT_TX_OPTION`: the numbers of hosts and ports in its query do not match
 *
 * @example
 * ```ts
 * import { splitHosts } from '@ambit/transaction/postgres';
 *
 * function isPostgresUrl(text: string): boolean {
 *   return /^postgres(?:ql)?:/.test(text) && splitHosts(text).every((url) => URL.canParse(url));
 * }
 * ```
 */
export function splitHosts(connectionString: string): string[] {
  const { start, hosts, path, query } = PARTS.exec(connectionString)?.groups ?? {};
  if (start === undefined || hosts === undefined) return [connectionString];
  const params = queryOf(connectionString);
  const named = pair(params.get('host') ?? undefined, params.get('port') ?? undefined);
  if (named.length === 1) return hosts.split(',').map((host) => `${start}${host}${path}${query}`);
  return named.map(({ host, port }) => {
    if (host !== undefined) params.set('host', host);
    if (port !== undefined) params.set('port', port);
    return `${start}${path}?${params.toString()}`;
  });
}

function queryOf(connectionString: string): URLSearchParams {
  const start = connectionString.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : connectionString.slice(start));
}

/** Hosts with their ports: one port for all of them, or one for each. */
function pair(hosts: string | undefined, ports: string | undefined): { host?: string; port?: string }[] {
  const host = hosts === undefined ? [] : hosts.split(',');
  const port = ports === undefined ? [] : ports.split(',');
  if (port.length > 1 && port.length !== host.length) {
    const given = host.length === 0 ? 'No host' : host.length === 1 ? '1 host' : `${host.length} hosts`;
    const what = `${given} and ${port.length} ports do not match: give one port for all hosts, or one for each`;
    throw new TransactionError('AMBIT_TX_OPTION', what);
  }
  const portOf = (index: number): { port?: string } => {
    const one = port.length === 1 ? port[0] : port[index];
    return one === undefined ? {} : { port: one };
  };
  return host.length === 0 ? [portOf(0)] : host.map((one, index) => ({ host: one, ...portOf(index) }));
}
