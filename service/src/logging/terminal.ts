import { levels } from 'pino';
import type { Config } from '../config/config.js';
import { LogOutput } from './logger.js';

/** The log as the configuration wants it: for a reader where stdout is a terminal, otherwise for machines. */
export function createOutput({ logFormat }: Config): LogOutput {
  const isText = logFormat === 'auto' ? process.stdout.isTTY : logFormat === 'text';
  return isText ? new TerminalOutput() : new LogOutput();
}

interface LogRecord extends Readonly<Record<string, unknown>> {
  readonly level: number;
  readonly time: string;
  /** `audit`, or absent. */
  readonly type?: string;
}

/** Shows each record of the log as a line of text, and the stack of its error below it. */
class TerminalOutput extends LogOutput {
  override write(line: string): void {
    const { level, time, msg, type, action, timestamp: _, err, ...fields } = JSON.parse(line) as LogRecord;
    const at = new Date(time).toTimeString().slice(0, 'hh:mm:ss'.length);
    const label = (type ?? levels.labels[level] ?? '').padEnd(5);
    const more = Object.entries(fields).map(([name, value]) => `${name}=${textOf(value)}`);
    const text = [at, label, textOf(action ?? msg), ...more].map(printable).join('  ');
    super.write(`${[text, ...stackOf(err).map(printable)].join(`\n${' '.repeat(10)}`)}\n`);
  }
}

function stackOf(err: unknown): string[] {
  if (err === undefined) return [];
  const { stack, message = textOf(err) } = Object(err) as { readonly stack?: string; readonly message?: string };
  return (stack ?? message).split('\n');
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Without line breaks and other control characters, by which a client could write anywhere on the screen. */
function printable(text: string): string {
  const code = (character: string): string => character.charCodeAt(0).toString(16).padStart(2, '0');
  return text.replaceAll(/\p{Cc}/gu, (character) => `\\x${code(character)}`);
}
