import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A pipe for the stdout of a program, which is read only when a test reads it. */
export class StalledReader implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'ambit-pipe-'));
  readonly #pipe: Socket;
  /** For `stdio`: open as long as the reader is, so that the pipe is never closed. */
  readonly stdout: number;
  #text = '';

  constructor() {
    const path = join(this.#folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    this.#pipe = new Socket({ fd: reading, readable: true, writable: false }).pause();
    this.#pipe.setEncoding('latin1').on('data', (text: string) => (this.#text += text));
    this.#pipe.pause();
    this.stdout = openSync(path, constants.O_WRONLY);
  }

  /** Reads until this was found, and then stops reading. */
  async readUntil(pattern: RegExp): Promise<RegExpExecArray> {
    const signal = AbortSignal.timeout(30_000);
    for (this.#pipe.resume(); ; await once(this.#pipe, 'data', { signal })) {
      const found = pattern.exec(this.#text);
      if (!found) continue;
      this.#pipe.pause();
      return found;
    }
  }

  /** Everything that was read, line by line. */
  get lines(): readonly string[] {
    return this.#text.split('\n').slice(0, -1);
  }

  [Symbol.dispose](): void {
    this.#pipe.destroy();
    closeSync(this.stdout);
    rmSync(this.#folder, { recursive: true });
  }
}
