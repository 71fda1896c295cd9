import type { Row } from '../core/contract.js';

/** A position in the write-ahead log of PostgreSQL, such as `16/B374D848`, as one number. */
export type Position = bigint;

/** Every replica has replayed this. */
export const START: Position = 0n;

/** No replica ever replays this: what was written has an unknown position, so only the primary certainly has it. */
export const UNKNOWN: Position = 0xff_ff_ff_ff_ff_ff_ff_ffn;

/** Behind the record of every COMMIT that the primary has responded to. */
export const WRITTEN = 'SELECT pg_current_wal_insert_lsn()::text AS position';

/** NULL on a server that is no standby any more, or never was one: it follows nobody. */
export const REPLAYED = 'SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()::text END AS position';

const TEXT = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i;

/** Undefined for any other text. */
export function readPosition(text: unknown): Position | undefined {
  const [, high, low] = typeof text === 'string' ? (TEXT.exec(text) ?? []) : [];
  return high === undefined ? undefined : (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

/** The result of one of the two statements. */
export function positionIn([row]: readonly Row[]): Position | undefined {
  return readPosition(row?.['position']);
}

export function writePosition(position: Position): string {
  return `${(position >> 32n).toString(16)}/${(position & 0xff_ff_ff_ffn).toString(16)}`.toUpperCase();
}
