import type { Container } from '@ambit/container';
import { pathToFileURL } from 'node:url';

const DEEPEST = 24;
const LINES = 3;
const FOREIGN = /node:|[\\/]node_modules[\\/]|<anonymous>\)?$/;

/** The stack of a `createScope` call. Its text is computed on demand, because that is the expensive part. */
export class Where {
  declare private readonly stack?: string;
  #lines: readonly string[] | undefined;

  constructor(scope: Container) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = DEEPEST;
    // oxlint-disable-next-line typescript/unbound-method -- names the call that the stack begins below
    Error.captureStackTrace(this, scope.createScope);
    Error.stackTraceLimit = stackTraceLimit;
  }

  /** The nearest lines of the application's own code. */
  lines(): readonly string[] {
    return (this.#lines ??= this.#read());
  }

  #read(): string[] {
    const base = pathToFileURL(`${process.cwd()}/`).href;
    const all = (this.stack ?? '')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().replace(/^at /, ''));
    const own = all.filter((line) => !FOREIGN.test(line));
    return (own.length > 0 ? own : all)
      .slice(0, LINES)
      .map((line) => line.replace(base, '').replace(process.cwd(), '.'));
  }
}
