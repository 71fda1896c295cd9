import { channel } from 'node:diagnostics_channel';
import type { Line } from './wire.js';

const recorded = channel('ambit:inspector:line');

/**
 * Shows a line of a log, or of an audit trail, in the request on whose behalf the code runs, if the option `lines` of the inspector is set. Call
 * it from the transport of the logger. While nobody looks, it costs a comparison.
 *
 * @param line - where it comes from, such as `log` or `audit`, its level, and its text, which the page shows as it is
 *
 * @example
 * ```ts
 * import { recordLine } from '@ambit/inspector';
 *
 * const logger = {
 *   info(text: string): void {
 *     console.log(text);
 *     recordLine({ source: 'log', level: 'info', text });
 *   },
 * };
 * logger.info('order placed');
 * ```
 */
export function recordLine(line: Line): void {
  if (recorded.hasSubscribers) recorded.publish(line);
}
