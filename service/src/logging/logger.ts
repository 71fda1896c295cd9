import { type DestinationStream, pino } from 'pino';
import type { Config } from '../config/config.js';
import { isoNow } from '../iso-now.js';

/** Registered as `ILogger`: one object per call. */
export interface ILogger {
  debug(record: object): void;
  info(record: object): void;
  warn(record: object): void;
  error(record: object): void;
}

/** Lines are written before the call returns: an audit record must survive the process that wrote it. */
export function createLogger(level: Config['logLevel'], destination: DestinationStream = writtenAtOnce()): ILogger {
  return pino({ level, base: null, timestamp: () => `,"time":"${isoNow()}"` }, destination);
}

/** Without `sync`, pino writes on a thread, and a process that is killed takes along what came meanwhile. */
const writtenAtOnce = (): DestinationStream => pino.destination({ dest: 1, sync: true });
