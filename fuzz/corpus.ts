import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';

const fileOf = (target: string): URL => new URL(`corpus/${target}.jsonl`, import.meta.url);

/** One input a line: its text, or its bytes where they are no text. */
export function readCorpus(target: string): Buffer[] {
  const file = fileOf(target);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.filter((line) => line !== '').map(fromLine);
}

/** In an order of its own, so that what two people found can be merged. */
export function writeCorpus(target: string, inputs: readonly Buffer[]): void {
  mkdirSync(new URL('corpus/', import.meta.url), { recursive: true });
  writeFileSync(
    fileOf(target),
    inputs
      .map((input) => `${toLine(input)}\n`)
      .toSorted()
      .join(''),
  );
}

export function toLine(input: Buffer): string {
  const text = input.toString();
  return JSON.stringify(Buffer.from(text).equals(input) ? text : { base64: input.toString('base64') });
}

export function fromLine(line: string): Buffer {
  const entry = JSON.parse(line) as string | { readonly base64: string };
  return typeof entry === 'string' ? Buffer.from(entry) : Buffer.from(entry.base64, 'base64');
}
