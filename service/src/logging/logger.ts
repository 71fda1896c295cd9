import { type DestinationStream, pino, stdTimeFunctions } from 'pino';
import type { Config } from '../config/config.js';

/** Registered as `ILogger`: one object per call. */
export interface ILogger {
  debug(record: object): void;
  info(record: object): void;
  warn(record: object): void;
  error(record: object): void;
}

/** Lines are written before the call returns: an audit record must survive the process that wrote it. */
export function createLogger(level: Config['logLevel'], destination?: DestinationStream): ILogger {
  const options = { level, base: null, timestamp: stdTimeFunctions.isoTime };
  return destination ? pino(options, destination) : pino(options);
}
