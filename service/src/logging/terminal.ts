import { levels } from 'pino';
import { type Config, placeOf } from '../config/config.js';
import { LogOutput } from './logger.js';

/** An error fits on a screen; LOG_FORMAT=json has the whole stack. */
const MAX_STACK_LINES = 15;
/** Shown in the line already, or of no use to a reader. */
const LEFT_OUT: ReadonlySet<string> = new Set(['level', 'time', 'msg', 'type', 'action', 'timestamp', 'err']);

interface LogRecord extends Readonly<Record<string, unknown>> {
  readonly level: number;
  readonly time: string;
  readonly msg?: string;
}

/** The log as the configuration wants it: for a reader where stdout is a terminal, otherwise for machines. */
export function createOutput(config: Config): LogOutput {
  const isText = config.logFormat === 'auto' ? process.stdout.isTTY : config.logFormat === 'text';
  return isText ? new TerminalOutput(config) : new LogOutput();
}

/** Shows each line of the log to a reader: a request in one line, and where to go when the service is ready. */
class TerminalOutput extends LogOutput {
  /** Of the service, for links. */
  #url = '';

  constructor(private readonly config: Config) {
    super();
  }

  override write(line: string): void {
    super.write(`${this.#textOf(JSON.parse(line) as LogRecord)}\n`);
  }

  #textOf(record: LogRecord): string {
    const { time, msg = '', level, type, action, err } = record;
    if (msg === 'listening') return this.#welcome(record);
    // A sentence a line: the fault, its place and the remedy.
    if (msg.startsWith('The service could not start'))
      return [...msg.split(/(?<=[.)]) (?=[A-Z])|\n/).map(printable), ...stackOf(err)].join('\n  ');
    if ('method' in record && 'ms' in record) return this.#request(record);
    const label = type === 'audit' ? type : (levels.labels[level] ?? String(level));
    const fields = Object.entries(record).filter(([name, value]) => !LEFT_OUT.has(name) && value !== undefined);
    const more = fields.map(([name, value]) => printable(`${name}=${shown(value)}`));
    const line = [timeOf(time), label.padEnd(5), printable(type === 'audit' ? action : msg), ...more].join('  ');
    return [line, ...stackOf(err)].join(`\n${' '.repeat(10)}`);
  }

  #welcome({ url, host, inspector }: LogRecord): string {
    const { database, inspector: { token } = {} } = this.config;
    // A browser cannot open the address that means all addresses.
    this.#url = String(url).replace(/\/\/(?:0\.0\.0\.0|\[::\])/, '//localhost');
    const rows = [
      `The service is ready, on ${String(host)}`,
      `API        ${this.#url}/api/users`,
      `Reference  ${this.#url}/docs`,
      inspector !== undefined &&
        `Inspector  ${this.#url}/inspector${token === undefined ? '' : ', asks for its token'}`,
      `Database   ${printable(placeOf(database))}`,
      'Stop       Ctrl+C',
    ];
    return rows.filter((row) => row !== false).join('\n  ');
  }

  #request({ time, msg, method, path, status, ms, userId, inspector }: LogRecord): string {
    const parts = [
      timeOf(time),
      printable(method).padEnd(5),
      printable(path).padEnd(30),
      status === undefined ? '---' : printable(status),
      `${Number(ms).toFixed(1)} ms`.padStart(9),
      msg === 'request aborted' && 'aborted by the client',
      userId !== undefined && printable(userId),
      inspector !== undefined && `${this.#url}${printable(inspector)}`,
    ];
    return parts.filter((part) => part !== false).join('  ');
  }
}

function stackOf(err: unknown): string[] {
  if (err === undefined) return [];
  const { stack, message = shown(err) } = Object(err) as { readonly stack?: string; readonly message?: string };
  const lines = (stack ?? message).split('\n');
  const left = lines.length - MAX_STACK_LINES;
  const rest = left > 0 ? [`... ${left} more lines, with LOG_FORMAT=json`] : [];
  return [...lines.slice(0, MAX_STACK_LINES), ...rest].map(printable);
}

const timeOf = (time: string): string => new Date(time).toTimeString().slice(0, 'hh:mm:ss'.length);

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Without line breaks and other control characters, by which a client could write anywhere on the screen. */
function printable(text: unknown): string {
  const code = (character: string): string => character.charCodeAt(0).toString(16).padStart(2, '0');
  return String(text).replaceAll(/\p{Cc}/gu, (character) => `\\x${code(character)}`);
}
