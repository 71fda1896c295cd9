import { chmod, mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Recording } from './recording.js';

/** Further ones are dropped while a disk is slow. */
const MOST_WAITING = 10;

/** The folder of the recordings: for its owner only, and with no more files than its limit. */
export class Folder {
  readonly #path: string;
  readonly #maxFiles: number;
  #files: number | undefined = undefined;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(path: string, maxFiles: number) {
    this.#path = path;
    this.#maxFiles = maxFiles;
  }

  /** Resolves to its path; to undefined where it was dropped. */
  async keep(recording: Recording): Promise<string | undefined> {
    if (this.#waiting >= MOST_WAITING || this.isFull) return undefined;
    this.#waiting += 1;
    const writing = this.#last.then(() => this.#write(recording));
    this.#last = writing.catch(() => undefined);
    return writing.finally(() => (this.#waiting -= 1));
  }

  get isFull(): boolean {
    return (this.#files ?? 0) >= this.#maxFiles;
  }

  async #write(recording: Recording): Promise<string | undefined> {
    if (this.#files === undefined) {
      await mkdir(this.#path, { recursive: true, mode: 0o700 });
      await chmod(this.#path, 0o700);
      this.#files = (await readdir(this.#path)).filter((name) => name.endsWith('.json')).length;
    }
    if (this.isFull) return undefined;
    this.#files += 1;
    const path = join(this.#path, nameOf(recording));
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(`${JSON.stringify(recording)}\n`);
    } finally {
      await file.close();
    }
    return path;
  }
}

/** `POST-orders-7f3a1c.json`: the path may have secrets behind its first part. */
function nameOf({ id, request: { method, url } }: Pick<Recording, 'id' | 'request'>): string {
  const { pathname } = new URL(url, 'http://localhost');
  const part = pathname.split('/').find((one) => /^[A-Za-z][A-Za-z_-]{0,30}$/.test(one)) ?? 'root';
  return `${method.replaceAll(/\W/g, '')}-${part}-${id}.json`;
}
