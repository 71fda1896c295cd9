import { type DestinationStream, pino } from 'pino';
import type { Config } from '../config/config.js';
import { timeField } from '../iso-now.js';
import { LogOutput } from './log-output.js';

/** Registered as `ILogger`: one object per call. */
export interface ILogger {
  debug(record: object): void;
  info(record: object): void;
  warn(record: object): void;
  error(record: object): void;
}

/** Writes lines to stdout by default; `LogOutput` says what happens when stdout is blocked. */
export function createLogger(level: Config['logLevel'], destination: DestinationStream = new LogOutput()): ILogger {
  return pino({ level, base: null, timestamp: timeField }, destination);
}
