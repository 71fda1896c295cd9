import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Happenings, RawClient } from '@ambit/test-kit';
import type { LogRecord } from './log-book.js';

const TIMEOUT_MS = 120_000;

export interface Exit {
  readonly code: number | null;
  /** Its output on stdout and stderr together. */
  readonly output: string;
}

/** A program of the service as it is deployed: built, and in its own process. */
export class ServiceProcess {
  readonly #child: ChildProcess;
  readonly #happenings = new Happenings();
  #output = '';
  #exit: Exit | undefined = undefined;

  /** `env` is its whole environment, in addition to a free port. */
  constructor(
    env: Readonly<Record<string, string>> = {},
    {
      program = 'main.js',
      args = [],
      ...exec
    }: { program?: string; args?: string[]; execPath?: string; execArgv?: string[] } = {},
  ) {
    const path = fileURLToPath(new URL(`../../dist/${program}`, import.meta.url));
    this.#child = fork(path, args, { env: { PORT: '0', ...env }, ...exec, silent: true });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
        this.#happenings.tell();
      });
    this.#child.once('close', (code: number | null) => {
      this.#exit = { code, output: this.#output };
      this.#happenings.tell();
    });
  }

  /** Rejects where the process is still alive long after this was asked for. */
  get exit(): Promise<Exit> {
    const exited = this.#happenings.until(() => this.#exit !== undefined, 'the process exits', TIMEOUT_MS);
    return exited.then(() => this.#exit as Exit);
  }

  /** What it has written so far. */
  get output(): string {
    return this.#output;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves with the record that has this message, as soon as it is logged. */
  async says(msg: string): Promise<LogRecord> {
    const find = (): LogRecord | undefined => this.#records().find((record) => record['msg'] === msg);
    await this.#happenings.until(
      () => this.#exit !== undefined || find() !== undefined,
      `the process says "${msg}"`,
      TIMEOUT_MS,
    );
    const record = find();
    if (record) return record;
    throw new Error(`The process exited without logging "${msg}". Its output:\n${this.#output}`);
  }

  async url(): Promise<string> {
    return String((await this.says('listening'))['url']);
  }

  async port(): Promise<number> {
    return Number(new URL(await this.url()).port);
  }

  async client(): Promise<RawClient> {
    return RawClient.connect(await this.port());
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
    await this.exit;
  }

  #records(): LogRecord[] {
    return this.#output
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as LogRecord);
  }
}
