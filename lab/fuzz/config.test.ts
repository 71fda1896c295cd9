import { isDeepStrictEqual } from 'node:util';
import { TransactionError } from '@ambit/transaction';
import { type Config, ConfigError, readConfig } from '../../service/src/config/config.js';
import { engineOf } from '../../service/src/database/engines.js';
import { it } from 'vitest';
import { mustHoldForAll, mustHold } from './texts.js';

/** It is in a secret only, so no message may have it. */
const SECRET = 'S3cr3tS3cr3t';
const SECRETS = new Set(['DATABASE_URL', 'EVENTS_URL', 'EVENTS_SECRET', 'INSPECTOR_TOKEN']);
const KEY = `whsec_${Buffer.alloc(24, 'k').toString('base64')}`;
const LIMITS: Readonly<Partial<Record<keyof Config, number>>> = {
  port: 65_535,
  startTimeoutMs: 600_000,
  shutdownTimeoutMs: 600_000,
  keepIdleMs: 60_000,
  transactionTimeoutMs: 600_000,
};

const DICTIONARY = [
  '\n',
  '=',
  ...[...SECRETS].map((name) => `\n${name}=`),
  '\nPORT=',
  '\nHOST=',
  '\nDATA_DIR=',
  '\nINSPECTOR=1',
  '\nNODE_ENV=production',
  '\nDATABASE_POOL_SIZE=',
  '\nTRANSACTION_CHECK=throw',
  '\nLOG_LEVEL=',
  '\nSTART_TIMEOUT_MS=',
  '\nKEEP_IDLE_MS=',
  SECRET,
  KEY,
  'postgres://',
  'postgresql://',
  `user:${SECRET}@`,
  'localhost',
  'a:5432,b:5433',
  ':5432',
  '/name',
  '?sslmode=require',
  '?host=/tmp',
  '&target_session_attrs=any',
  '&options=-c%20a=b',
  '&port=1',
  '%',
  '%zz',
  '%00',
  '[::1]',
  '@',
  'https://a.example/',
  'whsec_',
  '127.0.0.1',
  '256.1.1.1',
  '0',
  '-1',
  '1e3',
  '65536',
  '600001',
  '٣',
  '\0',
];

const SEEDS = [
  'PORT=3000\nHOST=127.0.0.1',
  `DATABASE_URL=postgres://user:${SECRET}@a:5432,b:5433/name?sslmode=require&target_session_attrs=any`,
  `EVENTS_URL=https://a.example/x\nEVENTS_SECRET=${KEY}`,
  `EVENTS_SECRET=${SECRET}`,
  `INSPECTOR=always\nINSPECTOR_TOKEN=${SECRET}${SECRET}`,
  'METRICS=1\nTRACES=1\nOTEL_SERVICE_NAME=a\nLOG_LEVEL=debug\nHOST_VARIANT=express\nTRANSACTION_CHECK=1',
];

it('a configuration that is accepted starts, or its pool says why not, and no message of the configuration has a secret', () =>
  mustHoldForAll({ dictionary: DICTIONARY, seeds: SEEDS, maxLength: 600 }, async (text) => {
    // A file of variables, one in each line.
    const lines = text.split('\n');
    const env = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s, 2) as [string, string]));
    const config = read(env);
    if (config instanceof ConfigError) {
      const isShown = Object.entries(env).some(([name, value]) => !SECRETS.has(name) && value?.includes(SECRET));
      mustHold(isShown || !config.message.includes(SECRET), 'a message has a secret', () => ({
        message: config.message,
      }));
      mustHold(config.problems.length > 0, 'nothing is wrong');
      return;
    }
    for (const [name, most] of Object.entries(LIMITS)) {
      const value = config[name as keyof Config];
      mustHold(
        Number.isInteger(value) && Number(value) >= 0 && Number(value) <= most,
        'a number is outside of its limits',
        () => ({ name, value }),
      );
    }
    const trimmed = Object.fromEntries(
      Object.entries(env).map(([name, value]) => [name, name === 'NODE_ENV' ? value : value?.trim()]),
    );
    mustHold(isDeepStrictEqual(read(trimmed), config), 'spaces around a value matter');
    await mustStart(config);
  }));

function read(env: Readonly<Record<string, string | undefined>>): Config | ConfigError {
  try {
    return readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

/** A pool connects with its first statement only. The parameters of a URL are its own, and it says what is wrong with them. */
async function mustStart(config: Config): Promise<void> {
  const { database } = config;
  if (database.kind !== 'postgres') return;
  try {
    await engineOf(database).createPool().close();
  } catch (error) {
    if (!(error instanceof TransactionError) || error.code !== 'AMBIT_OPTION') throw error;
  }
}
