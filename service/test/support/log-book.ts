import type { Happenings } from '@ambit/test-kit';
import { createLogger, type ILogger } from '../../src/index.js';

export type LogRecord = Readonly<Record<string, unknown>>;

/** The service's own logger, with its records kept in memory. */
export class LogBook {
  readonly records: LogRecord[] = [];
  readonly logger: ILogger;
  readonly #happenings: Happenings;

  constructor(happenings: Happenings) {
    this.#happenings = happenings;
    this.logger = createLogger('debug', {
      write: (line) => {
        this.records.push(JSON.parse(line) as LogRecord);
        happenings.tell();
      },
    });
  }

  get audits(): LogRecord[] {
    return this.records.filter(({ type }) => type === 'audit');
  }

  /** Resolves with the first record that has these values, when it is there. */
  async finds(wanted: LogRecord): Promise<LogRecord> {
    const find = (): LogRecord | undefined =>
      this.records.find((record) => Object.entries(wanted).every(([name, value]) => record[name] === value));
    await this.#happenings.until(() => find() !== undefined, `the log has ${JSON.stringify(wanted)}`);
    return find() ?? {};
  }

  clear(): void {
    this.records.length = 0;
  }
}
