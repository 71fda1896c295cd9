import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';

const TYPES: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

export interface Asset {
  readonly type: string;
  readonly body: Buffer;
  readonly gzipped: Buffer;
}

/** The files of the page, as they are in the package; each is read and compressed once. */
export class Assets {
  readonly #read = new Map<string, Promise<Asset | undefined>>();

  /** Only plain names, so nothing else can be requested. */
  async find(name: string): Promise<Asset | undefined> {
    const kind = /^[a-z]+(?:-[a-z]+)*\.(css|html|js|svg)$/.exec(name)?.[1];
    const type = kind && TYPES[kind];
    if (type === undefined) return undefined;
    const known = this.#read.get(name) ?? this.#load(name, type);
    const found = await known;
    if (found) this.#read.set(name, known);
    return found;
  }

  async #load(name: string, type: string): Promise<Asset | undefined> {
    const folder = /\.(?:css|js)$/.test(name) ? '../dist/page/' : '../assets/';
    try {
      const body = await readFile(new URL(folder + name, import.meta.url));
      return { type, body, gzipped: gzipSync(body) };
    } catch {
      return undefined;
    }
  }
}
