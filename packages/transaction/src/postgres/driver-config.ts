import type { ClientConfig } from 'pg';
import { given } from '../core/options.js';
import type { PostgresSettings } from './options.js';

/** What the driver receives for each host. The time for a connection is divided among the hosts. */
export function driverConfigs(settings: PostgresSettings): ClientConfig[] {
  const { user, password, database, ssl, applicationName, statementTimeoutMs, addresses } = settings;
  const asked = {
    user,
    password,
    database,
    ssl,
    application_name: applicationName,
    statement_timeout: statementTimeoutMs === undefined ? undefined : orNever(statementTimeoutMs),
  };
  return addresses.map((address) => ({
    ...address,
    // An option given as undefined would hide what the connection string or the environment says.
    ...given(asked),
    connectionTimeoutMillis: orNever(settings.connectTimeoutMs / addresses.length),
    keepAlive: true,
    keepAliveInitialDelayMillis: orNever(settings.keepAliveDelayMs),
  }));
}

/** The driver says "never" with 0. */
function orNever(ms: number): number {
  return ms >= 2 ** 31 ? 0 : ms;
}
