import type { WriteStream } from 'node:tty';
import { levels } from 'pino';
import { type Config, placeOf } from '../config/config.js';
import { LogOutput } from './logger.js';

const GREEN = 32;
const YELLOW = 33;
const RED = 31;
const CYAN = 36;
const BOLD = 1;
const DIM = 2;

const TIME_WIDTH = 'hh:mm:ss'.length;
const LABEL_WIDTH = 5;
const PATH_WIDTH = 30;
const MS_WIDTH = 9;
const WARN = 40;
/** An error fits on a screen; LOG_FORMAT=json has the whole stack. */
const MAX_STACK_LINES = 15;
const INDENT = ' '.repeat(TIME_WIDTH + 2);
/** Shown in the line already, or of no use to a reader. */
const LEFT_OUT: ReadonlySet<string> = new Set(['level', 'time', 'msg', 'type', 'action', 'timestamp', 'err']);

interface LogRecord extends Readonly<Record<string, unknown>> {
  readonly level: number;
  readonly time: string;
  readonly msg?: string;
}

/** The log as the configuration wants it: for a reader where stdout is a terminal, otherwise for machines. */
export function createOutput(
  config: Config,
  stdout: Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>> = process.stdout,
): LogOutput {
  const { isTTY = false } = stdout;
  const format = config.logFormat === 'auto' && isTTY ? 'text' : config.logFormat;
  // `hasColors` also knows NO_COLOR and terminals without colours.
  return format === 'text' ? new TerminalOutput(config, isTTY && stdout.hasColors?.() === true) : new LogOutput();
}

/** Shows each line of the log to a reader: a request in one line, and where to go when the service is ready. */
class TerminalOutput extends LogOutput {
  /** Of the service, for links. */
  #url = '';

  constructor(
    private readonly config: Config,
    private readonly hasColors: boolean,
  ) {
    super();
  }

  override write(line: string): void {
    super.write(`${this.#textOf(JSON.parse(line) as LogRecord)}\n`);
  }

  #textOf(record: LogRecord): string {
    if (record.msg === 'listening') return this.#welcome(record);
    if (record.msg?.startsWith('The service could not start')) return this.#refusedStart(record);
    if ('method' in record && 'ms' in record) return this.#request(record);
    return this.#message(record);
  }

  #welcome({ url, host, inspector, time }: LogRecord): string {
    const { database, inspector: { token } = {} } = this.config;
    // A browser cannot open the address that means all addresses.
    this.#url = String(url).replace(/\/\/(?:0\.0\.0\.0|\[::\])/, '//localhost');
    const link = (path: string): string => this.#paint(CYAN, `${this.#url}${path}`);
    const rows = [
      ['API', link('/api/users')],
      ['Reference', link('/docs')],
      ...(inspector === undefined
        ? []
        : [['Inspector', link('/inspector') + (token === undefined ? '' : ', asks for INSPECTOR_TOKEN')]]),
      ['Database', printable(placeOf(database))],
      ['Stop', 'Ctrl+C'],
    ];
    const title = `${this.#paint(GREEN, '●')} ${this.#paint(BOLD, `The service is ready, on ${String(host)}`)}`;
    const lines = rows.map(
      ([name = '', text = '']) => `  ${this.#paint(DIM, name.padEnd('Reference  '.length))}${text}`,
    );
    return ['', `${title}  ${this.#paint(DIM, timeOf(time))}`, '', ...lines, ''].join('\n');
  }

  /** What is wrong, where, and what to do: a sentence a line. */
  #refusedStart({ msg = '', err }: LogRecord): string {
    const [what = '', ...sentences] = msg.split(/(?<=[.)]) (?=[A-Z])/);
    const lines = sentences.flatMap((sentence) => sentence.split('\n')).map((line) => `  ${printable(line)}`);
    const title = `${this.#paint(RED, '✗')} ${this.#paint(BOLD, what.replace(/\.$/, ''))}`;
    return ['', title, ...lines, ...this.#stackOf(err, '  '), ''].join('\n');
  }

  #request({ time, msg, level, method, path, status, ms, userId, inspector }: LogRecord): string {
    const color = level >= WARN || Number(status) >= 500 ? RED : Number(status) >= 400 ? YELLOW : GREEN;
    const aborted = msg === 'request aborted' && this.#paint(YELLOW, 'aborted by the client');
    const parts = [
      this.#paint(DIM, timeOf(time)),
      printable(method).padEnd(LABEL_WIDTH),
      printable(path).padEnd(PATH_WIDTH),
      this.#paint(color, status === undefined ? '---' : printable(status)),
      `${Number(ms).toFixed(1)} ms`.padStart(MS_WIDTH),
      aborted,
      userId !== undefined && this.#paint(DIM, printable(userId)),
      inspector !== undefined && this.#paint(DIM, `${this.#url}${printable(inspector)}`),
    ];
    return parts.filter((part) => part !== false).join('  ');
  }

  #message(record: LogRecord): string {
    const { level, time, msg, type, action, err } = record;
    const isAudit = type === 'audit';
    const label = (isAudit ? 'audit' : (levels.labels[level] ?? String(level))).padEnd(LABEL_WIDTH);
    const color = level > WARN ? RED : level === WARN ? YELLOW : DIM;
    const text = isAudit ? this.#paint(DIM, printable(action)) : printable(msg ?? '');
    const fields = Object.entries(record).filter(([name, value]) => !LEFT_OUT.has(name) && value !== undefined);
    const more = fields.map(([name, value]) => this.#paint(DIM, printable(`${name}=${shown(value)}`)));
    const line = [this.#paint(DIM, timeOf(time)), this.#paint(color, label), text, ...more].join('  ');
    return [line, ...this.#stackOf(err, INDENT)].join('\n');
  }

  #stackOf(err: unknown, indent: string): string[] {
    if (typeof err !== 'object' || err === null) return err === undefined ? [] : [`${indent}${printable(err)}`];
    const { stack, message = shown(err) } = err as { readonly stack?: string; readonly message?: string };
    const lines = (stack ?? message).split('\n');
    const left = lines.length - MAX_STACK_LINES;
    const rest = left > 0 ? [`... ${left} more lines, with LOG_FORMAT=json`] : [];
    return [...lines.slice(0, MAX_STACK_LINES), ...rest].map((line) => this.#paint(DIM, `${indent}${printable(line)}`));
  }

  #paint(code: number, text: string): string {
    return this.hasColors ? `\u001B[${code}m${text}\u001B[0m` : text;
  }
}

const timeOf = (time: string): string => new Date(time).toTimeString().slice(0, TIME_WIDTH);

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Without line breaks and other control characters, by which a client could write anywhere on the screen. */
function printable(text: unknown): string {
  return String(text).replaceAll(
    /\p{Cc}/gu,
    (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
