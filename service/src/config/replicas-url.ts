import { splitHosts } from '@ambit/transaction/postgres';
import type { ReplicasConfig } from './config.js';
import { problemsOfDatabaseUrl } from './database-url.js';

/** The replicas of `DATABASE_READ_URL`. The messages never repeat the value, because it contains a password. */
export function readReplicas(
  env: Readonly<Record<string, string | undefined>>,
  readFrom: ReplicasConfig['readFrom'],
  problems: string[],
): ReplicasConfig | undefined {
  const url = env['DATABASE_READ_URL']?.trim() ?? '';
  if (url === '') return undefined;
  const wrong = problemsOfDatabaseUrl('DATABASE_READ_URL', url);
  problems.push(...wrong);
  if ((env['DATABASE_URL']?.trim() ?? '') === '')
    problems.push('DATABASE_READ_URL must be set with DATABASE_URL: the embedded database has no replicas');
  return wrong.length > 0 ? undefined : { urls: splitHosts(url), readFrom };
}
