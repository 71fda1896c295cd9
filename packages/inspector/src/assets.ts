import { readFile } from 'node:fs/promises';

const TYPES: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** A file of the page, as it is in the package; only plain names, so nothing else can be asked for. */
export async function asset(name: string): Promise<{ body: Buffer; type: string } | undefined> {
  const kind = /^[a-z]+(?:-[a-z]+)*\.(css|html|js|svg)$/.exec(name)?.[1];
  const type = kind && TYPES[kind];
  if (type === undefined) return undefined;
  const folder = kind === 'js' ? '../dist/page/' : '../assets/';
  try {
    return { body: await readFile(new URL(folder + name, import.meta.url)), type };
  } catch {
    return undefined;
  }
}
